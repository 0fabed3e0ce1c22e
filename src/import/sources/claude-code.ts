import { isFields } from '../../base/fields.ts';
import { join } from 'node:path';
import { given } from '../../base/given.ts';
import { at, inTable, listAt, textAt, textOf, timeAt } from '../source/fields.ts';
import type {
  RecordReader,
  SessionDetails,
  Source,
  SourceFile,
  SourceRecord,
  Taken,
  TakenPart,
  TakenTurn,
  TurnHead,
} from '../source/source.ts';
import { SHOWS } from '../show/show-records.ts';
import { agentOf, discoverClaude } from './claude-files.ts';
import { asTitle, detailsOf, flagsOf, readUsage, titleOf, turnOf, type Loose } from './shared.ts';

// Claude Code: `projects/<folder>/<session>.jsonl`, with subagents in files of their own. Records form a tree by
// `uuid` and `parentUuid`. One message of the model is several lines with one `message.id`, and the results of its tool
// calls stand between them: such a group is held back until it has ended, and then its turns follow each other.

export const claudeCode: Source = {
  name: 'claude-code',
  title: 'Claude Code',
  idsAreGlobal: true,

  homes: ({ env, home }) => [env['CLAUDE_CONFIG_DIR'] || join(home, '.claude')],

  discover: discoverClaude,
  isRecord: (value) => typeof textAt(value, 'type') === 'string',
  read: (file) => new ClaudeReader(file),
  show: SHOWS['claude-code'],
};

/** Records of the chain that nobody said. */
const EVENTS = new Set([
  'attachment',
  'bridge-session',
  'content-replacement',
  'cost-state',
  'file-history-delta',
  'file-history-snapshot',
  'last-prompt',
  'mode',
  'permission-mode',
  'pr-link',
  'progress',
  'queue-operation',
  'worktree-state',
]);
const TITLES: Readonly<Record<string, readonly [string, 'user' | 'generated' | 'summary']>> = {
  'custom-title': ['customTitle', 'user'],
  'agent-name': ['agentName', 'generated'],
  'ai-title': ['aiTitle', 'generated'],
  summary: ['summary', 'summary'],
};
const BOUNDARIES = new Set(['compact_boundary', 'microcompact_boundary']);
const ECHO = /^\s*<(?:command-name|command-message|local-command-stdout|local-command-caveat)>/;
const SPAWNERS = new Set(['Agent', 'Task']);

/** A message of the model with the results of its calls. */
interface Group {
  readonly message: string;
  readonly offset: number;
  readonly parent: string | null | undefined;
  readonly parts: TakenPart[];
  /** The ids of all records of the group. */
  readonly members: Set<string>;
  /** The records that follow the message, in the order of the file. */
  readonly queue: (TakenTurn | Taken)[];
  /** The id of the last turn of the group. */
  tip: string;
}

class ClaudeReader implements RecordReader {
  readonly #file: SourceFile;
  #group: Group | undefined;

  constructor(file: SourceFile) {
    this.#file = file;
  }

  get heldFrom(): number | undefined {
    return this.#group?.offset;
  }

  end(): readonly Taken[] {
    return this.#close();
  }

  take(record: SourceRecord): readonly Taken[] {
    const { value } = record;
    const type = textAt(value, 'type') ?? '';
    if (type === 'assistant') return this.#assistant(record);
    if (type === 'user') return this.#user(record);
    if (type === 'attachment' && textAt(value, 'attachment', 'type') === 'queued_command') {
      return this.#queued(record);
    }
    if (type === 'system') return this.#system(record);
    const details = noted(type, value);
    if (details !== undefined || EVENTS.has(type)) {
      return this.#emit([...detailsOf(details ?? {}), this.#aside(record)]);
    }
    // Records of unknown types are turns, so that nobody overlooks them.
    return this.#emit([this.#turn(record, 'event', {}, { parent: this.#parent(record) })]);
  }

  #assistant(record: SourceRecord): readonly Taken[] {
    const { value, raw, offset } = record;
    const message = textAt(value, 'message', 'id');
    if (value['isCompactSummary'] === true) return this.#summary(record);
    const isError = value['isApiErrorMessage'] === true;
    if (isError || textAt(value, 'message', 'model') === '<synthetic>') {
      return this.#emit([this.#aside(record)]);
    }
    const id = idOf(record);
    if (message !== undefined && message === this.#group?.message) {
      this.#group.members.add(id);
      this.#group.parts.push({ id, raw, value });
      return [];
    }
    const parent = this.#parent(record);
    const closed = this.#close();
    this.#group = {
      message: message ?? id,
      offset,
      parent,
      parts: [{ id, raw, value }],
      members: new Set([id]),
      queue: [],
      tip: id,
    };
    return [...closed, ...this.#seen(value)];
  }

  #user(record: SourceRecord): readonly Taken[] {
    const { value } = record;
    if (value['isCompactSummary'] === true) return this.#summary(record);
    const results = listAt(value, 'message', 'content').filter(
      (block) => textAt(block, 'type') === 'tool_result',
    );
    const parent = this.#parent(record);
    const time = timeAt(value, 'timestamp');
    if (results.length > 0) {
      const agent = textAt(value, 'toolUseResult', 'agentId');
      const turn = this.#turn(
        record,
        'message',
        { at: time, role: 'tool' },
        {
          parent,
          alike: [`r:${textAt(results[0], 'tool_use_id') ?? ''}`],
          ...(agent !== undefined && { ids: [`agent:${agent}`] }),
          files: savedOutputs(value),
        },
      );
      return this.#inGroup(turn);
    }
    const text = textOf(at(value, 'message', 'content'));
    if (value['isMeta'] === true || ECHO.test(text)) return this.#emit([this.#aside(record)]);
    const origin = textAt(value, 'origin', 'kind');
    const isMeta =
      (origin !== undefined && origin !== 'human') ||
      /^\s*<(?:task-notification|teammate-message)\b/.test(text);
    const head = { at: time, role: 'user', flags: flagsOf({ meta: isMeta }) } as const;
    const turn = this.#turn(record, 'message', head, {
      parent,
      alike: [`p:${textAt(value, 'timestamp') ?? ''}:${text.slice(0, 200)}`],
      ...twinOf(value, 'user'),
    });
    const title = isMeta || value['isSidechain'] === true ? [] : titleOf(text);
    return [...this.#close(), ...this.#seen(value), ...title, turn];
  }

  /** Typed while a tool ran: no other record repeats it. */
  #queued(record: SourceRecord): readonly Taken[] {
    const meta = textAt(record.value, 'attachment', 'commandMode') === 'task-notification';
    const time = timeAt(record.value, 'timestamp');
    const head = { at: time, role: 'user', flags: flagsOf({ meta }) } as const;
    return this.#inGroup(this.#turn(record, 'message', head, { parent: this.#parent(record) }));
  }

  #system(record: SourceRecord): readonly Taken[] {
    const { value } = record;
    const subtype = textAt(value, 'subtype') ?? '';
    if (!BOUNDARIES.has(subtype)) return this.#emit([this.#aside(record)]);
    const anchor =
      textAt(value, 'logicalParentUuid') ??
      textAt(value, 'compactMetadata', 'preservedSegment', 'tailUuid') ??
      textAt(value, 'compactMetadata', 'preservedMessages', 'anchorUuid');
    const parent = textAt(value, 'parentUuid') ?? anchor;
    const kind = subtype.replace('_boundary', 'ion');
    return this.#mark(record, { kind }, parent && this.#inside(parent));
  }

  #summary(record: SourceRecord): readonly Taken[] {
    const summary = textOf(at(record.value, 'message', 'content')).slice(0, 4000);
    return this.#mark(record, { kind: 'compaction-summary', summary }, this.#parent(record));
  }

  #mark(record: SourceRecord, marker: TurnHead, parent: TakenTurn['parent']): readonly Taken[] {
    const head = { at: timeAt(record.value, 'timestamp'), ...marker };
    return [...this.#close(), this.#turn(record, 'marker', head, { parent })];
  }

  /** The turn before a record. Inside of a group the turns follow each other. */
  #parent({ value }: SourceRecord): string | null | undefined {
    const parent = value['parentUuid'];
    if (typeof parent !== 'string') return parent === null ? null : undefined;
    return this.#inside(parent);
  }

  #inside(parent: string): string {
    return this.#group?.members.has(parent) === true ? this.#group.tip : parent;
  }

  #turn(
    record: SourceRecord,
    what: TakenTurn['what'],
    head: Loose<TurnHead>,
    more: Partial<TakenTurn>,
  ): TakenTurn {
    const { value, raw } = record;
    const id = what === 'event' ? textAt(value, 'uuid') : idOf(record);
    return turnOf(record, what, head, {
      ...this.#lane(value),
      parts: [{ id, raw, value }],
      ...more,
    });
  }

  #aside({ value, raw }: SourceRecord): Taken {
    const id = textAt(value, 'uuid');
    const parent = value['parentUuid'];
    const link = typeof parent === 'string' || parent === null ? { parent } : {};
    return { do: 'aside', ...this.#lane(value), raw, ...(id !== undefined && { id, ...link }) };
  }

  /** Oldest files have the records of subagents among those of the session. */
  #lane(value: SourceRecord['value']): { session?: string } {
    if (value['isSidechain'] !== true || agentOf(this.#file.path) !== undefined) return {};
    return { session: `/agent-${textAt(value, 'agentId') ?? 'inline'}` };
  }

  /** Takes the facts that each line tells about its session. */
  #seen(value: SourceRecord['value']): Taken[] {
    const { session } = this.#lane(value);
    const details = {
      cwd: textAt(value, 'cwd'),
      branch: textAt(value, 'gitBranch'),
      version: textAt(value, 'version'),
      model: textAt(value, 'message', 'model'),
      parent: session === undefined ? this.#owner(value) : { session: this.#file.session },
    };
    return detailsOf(details, session);
  }

  /** The session of a subagent with a file of its own, if only its records name the session. */
  #owner(value: SourceRecord['value']): SessionDetails['parent'] {
    const agent = agentOf(this.#file.path);
    const session = agent === undefined ? undefined : textAt(value, 'sessionId');
    const isKnown = session === undefined || this.#file.details?.parent !== undefined;
    return isKnown ? undefined : { session, agent: agent ?? '' };
  }

  /** Behind the turns of the group that is open, if it is one of them. */
  #inGroup(turn: TakenTurn): readonly Taken[] {
    const group = this.#group;
    if (group === undefined || turn.parent !== group.tip) return [...this.#close(), turn];
    const id = turn.parts[0]?.id ?? '';
    group.queue.push(turn);
    group.members.add(id);
    group.tip = id;
    return [];
  }

  /** Records that are no turns wait for the group, too, because others may follow them. */
  #emit(items: readonly Taken[]): readonly Taken[] {
    const group = this.#group;
    if (group === undefined) return items;
    for (const item of items) {
      group.queue.push(item);
      if (item.do !== 'aside' || item.id === undefined || typeof item.parent !== 'string') continue;
      if (group.members.has(item.parent)) group.members.add(item.id);
    }
    return [];
  }

  #close(): readonly Taken[] {
    const group = this.#group;
    if (group === undefined) return [];
    this.#group = undefined;
    const { parts, parent, queue } = group;
    const last = parts.at(-1)?.value;
    const head = given({
      at: timeAt(parts[0]?.value, 'timestamp'),
      role: 'assistant' as const,
      model: textAt(last, 'message', 'model'),
      usage: readUsage(at(last, 'message', 'usage')),
    });
    const calls = parts.flatMap(({ value }) =>
      listAt(value, 'message', 'content')
        .filter((block) => SPAWNERS.has(textAt(block, 'name') ?? ''))
        .map((block) => `call:${textAt(block, 'id') ?? ''}`),
    );
    const turn: TakenTurn = {
      do: 'turn',
      ...this.#lane((last ?? {}) as SourceRecord['value']),
      what: 'message',
      parts,
      parent,
      head,
      ids: calls,
      alike: [`m:${group.message}`],
      ...twinOf(parts[0]?.value, 'assistant'),
    };
    return [turn, ...queue];
  }
}

/** Copies that a compaction makes have new ids, and the times of the originals. */
function twinOf(value: unknown, role: string): { twin?: string } {
  const time = textAt(value, 'timestamp');
  return time === undefined ? {} : { twin: `${role} ${time}` };
}

function idOf({ value, raw }: SourceRecord): string {
  return textAt(value, 'uuid') ?? `raw:${raw}`;
}

/** What a record that is no turn tells about its session; undefined for one that tells nothing. */
function noted(type: string, value: SourceRecord['value']): Loose<SessionDetails> | undefined {
  const [field, from] = inTable(TITLES, type) ?? [];
  if (field !== undefined) return { title: asTitle(textAt(value, field), from) };
  switch (type) {
    case 'fork-context-ref': {
      const session = textAt(value, 'parentSessionId');
      const last = textAt(value, 'parentLastUuid');
      return session === undefined ? {} : { copyOf: { session, ...(last && { at: last }) } };
    }
    case 'continued-in':
      return { more: given({ continuedIn: textAt(value, 'continuedInSessionId') }) };
    case 'relocated':
      return { cwd: textAt(value, 'relocatedCwd') };
    default:
      return undefined;
  }
}

/** Long outputs are files beside the session; the record has their names and a preview. */
function savedOutputs(value: SourceRecord['value']): Record<string, string> {
  const files: Record<string, string> = {};
  for (const [index, block] of listAt(value, 'message', 'content').entries()) {
    const text = textOf(at(block, 'content'));
    if (!isFields(block) || !text.startsWith('<persisted-output>')) continue;
    const [, named] = /([^\s/\\"']+\.txt)\b/.exec(text) ?? [];
    files[`/message/content/${index}/content`] =
      named ?? `${textAt(block, 'tool_use_id') ?? ''}.txt`;
  }
  return files;
}
