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
import { readUsage, titleOf } from './shared.ts';

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
const TITLES: Readonly<Record<string, readonly [string, 'user' | 'generated']>> = {
  'custom-title': ['customTitle', 'user'],
  'agent-name': ['agentName', 'generated'],
  'ai-title': ['aiTitle', 'generated'],
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
    const details = detailsOf(type, value);
    if (details !== undefined) return this.#emit([this.#details(details), this.#aside(record)]);
    if (EVENTS.has(type)) return this.#emit([this.#aside(record)]);
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
    const content = at(value, 'message', 'content');
    if (value['isCompactSummary'] === true) return this.#summary(record);
    const results = listAt(value, 'message', 'content').filter(
      (block) => textAt(block, 'type') === 'tool_result',
    );
    const head = this.#head(value);
    if (results.length > 0) {
      const ids = results.map((block) => `r:${textAt(block, 'tool_use_id') ?? ''}`);
      const agent = textAt(value, 'toolUseResult', 'agentId');
      return this.#inGroup(
        this.#turn(
          record,
          'message',
          { ...head, role: 'tool' },
          {
            parent: this.#parent(record),
            alike: ids.slice(0, 1),
            ...(agent !== undefined && { ids: [`agent:${agent}`] }),
            files: savedOutputs(value),
          },
        ),
      );
    }
    const text = textOf(content);
    if (value['isMeta'] === true || ECHO.test(text)) return this.#emit([this.#aside(record)]);
    const origin = textAt(value, 'origin', 'kind');
    const isMeta =
      (origin !== undefined && origin !== 'human') ||
      /^\s*<(?:task-notification|teammate-message)\b/.test(text);
    const turn = this.#turn(
      record,
      'message',
      { ...head, role: 'user', ...(isMeta && { flags: ['meta'] }) },
      {
        parent: this.#parent(record),
        alike: [`p:${textAt(value, 'timestamp') ?? ''}:${text.slice(0, 200)}`],
        ...twinOf(value, 'user'),
      },
    );
    const title = isMeta || value['isSidechain'] === true ? [] : titleOf(text);
    return [...this.#close(), ...this.#seen(value), ...title, turn];
  }

  /** Typed while a tool ran: no other record repeats it. */
  #queued(record: SourceRecord): readonly Taken[] {
    const isMeta = textAt(record.value, 'attachment', 'commandMode') === 'task-notification';
    const head: TurnHead = {
      ...this.#head(record.value),
      role: 'user',
      ...(isMeta && { flags: ['meta'] }),
    };
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
    const inGroup = parent !== undefined && this.#group?.members.has(parent) === true;
    const to = inGroup ? this.#group?.tip : parent;
    const head = {
      ...this.#head(value),
      kind: subtype.replace('_boundary', 'ion'),
    };
    return [...this.#close(), this.#turn(record, 'marker', head, { parent: to })];
  }

  #summary(record: SourceRecord): readonly Taken[] {
    const summary = textOf(at(record.value, 'message', 'content')).slice(0, 4000);
    const head = { ...this.#head(record.value), kind: 'compaction-summary', summary };
    const parent = this.#parent(record);
    return [...this.#close(), this.#turn(record, 'marker', head, { parent })];
  }

  #head(value: SourceRecord['value']): TurnHead {
    return given({ at: timeAt(value, 'timestamp') });
  }

  /** The turn before a record. Inside of a group the turns follow each other. */
  #parent({ value }: SourceRecord): string | null | undefined {
    const parent = value['parentUuid'];
    if (typeof parent !== 'string') return parent === null ? null : undefined;
    return this.#group?.members.has(parent) === true ? this.#group.tip : parent;
  }

  #turn(
    record: SourceRecord,
    what: TakenTurn['what'],
    head: TurnHead,
    more: Partial<TakenTurn>,
  ): TakenTurn {
    const { value, raw } = record;
    const id = what === 'event' ? textAt(value, 'uuid') : idOf(record);
    const parts = [{ id, raw, value }];
    return { do: 'turn', ...this.#lane(value), what, parts, head, ...more };
  }

  #aside({ value, raw }: SourceRecord): Taken {
    const id = textAt(value, 'uuid');
    const parent = value['parentUuid'];
    const link = typeof parent === 'string' || parent === null ? { parent } : {};
    return { do: 'aside', ...this.#lane(value), raw, ...(id !== undefined && { id, ...link }) };
  }

  #details(details: SessionDetails): Taken {
    return { do: 'details', details };
  }

  /** Oldest files have the records of subagents among those of the session. */
  #lane(value: SourceRecord['value']): { session?: string } {
    if (value['isSidechain'] !== true || agentOf(this.#file.path) !== undefined) return {};
    return { session: `/agent-${textAt(value, 'agentId') ?? 'inline'}` };
  }

  /** Takes the facts that each line tells about its session. */
  #seen(value: SourceRecord['value']): Taken[] {
    const model = textAt(value, 'message', 'model');
    const lane = this.#lane(value);
    const parent = agentOf(this.#file.path) === undefined ? undefined : textAt(value, 'sessionId');
    const details = given({
      cwd: textAt(value, 'cwd'),
      branch: textAt(value, 'gitBranch'),
      version: textAt(value, 'version'),
      model,
      parent:
        lane.session === undefined
          ? parent === undefined || this.#file.details?.parent !== undefined
            ? undefined
            : { session: parent, agent: agentOf(this.#file.path) ?? '' }
          : { session: this.#file.session },
    });
    return Object.keys(details).length === 0 ? [] : [{ do: 'details', ...lane, details }];
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
      if (item.do === 'aside' && item.id !== undefined) {
        if (typeof item.parent === 'string' && group.members.has(item.parent)) {
          group.members.add(item.id);
        }
      }
    }
    return [];
  }

  #close(): readonly Taken[] {
    const group = this.#group;
    if (group === undefined) return [];
    this.#group = undefined;
    const { parts, parent, queue } = group;
    const last = parts.at(-1)?.value;
    const usage = readUsage(at(last, 'message', 'usage'));
    const head: TurnHead = given({
      at: timeAt(parts[0]?.value, 'timestamp'),
      role: 'assistant' as const,
      model: textAt(last, 'message', 'model'),
      usage,
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

function detailsOf(type: string, value: SourceRecord['value']): SessionDetails | undefined {
  const titled = inTable(TITLES, type);
  const text = titled && textAt(value, titled[0]);
  if (titled !== undefined) return text === undefined ? {} : { title: { text, from: titled[1] } };
  switch (type) {
    case 'summary': {
      const summary = textAt(value, 'summary');
      return summary === undefined ? {} : { title: { text: summary, from: 'summary' } };
    }
    case 'fork-context-ref': {
      const session = textAt(value, 'parentSessionId');
      const last = textAt(value, 'parentLastUuid');
      return session === undefined ? {} : { copyOf: { session, ...(last && { at: last }) } };
    }
    case 'continued-in':
      return { more: given({ continuedIn: textAt(value, 'continuedInSessionId') }) };
    case 'relocated':
      return given({ cwd: textAt(value, 'relocatedCwd') });
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
