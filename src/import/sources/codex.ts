import { basename, dirname, join } from 'node:path';
import { isFields } from '../../base/fields.ts';
import { given } from '../../base/given.ts';
import { at, countAt, inTable, listAt, textAt, textOf, timeAt } from '../source/fields.ts';
import type {
  RecordReader,
  Source,
  SourceFile,
  SourceRecord,
  Taken,
  TakenTurn,
  TurnHead,
} from '../source/source.ts';
import { isEnvelope, SHOWS } from '../show/show-records.ts';
import { asTitle, detailsOf, filesAt, flagsOf, readUsage, titleOf, turnOf } from './shared.ts';
import type { AboutFile, Loose } from './shared.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { parseJsonLine } from '../../base/json-lines.ts';
import { readSmallText } from '../source/walk-folder.ts';

// Codex CLI: `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`. A file is one chain in its order. Records have no ids,
// so their content names them. Texts come twice, as items and as events: an event waits for its item.

const NAME = /^rollout-[0-9T-]+?-([0-9a-f-]{36})(?:_[0-9a-f-]{36})?\.jsonl(\.zst)?$/;

export const codex: Source = {
  name: 'codex',
  title: 'Codex CLI',

  homes: ({ env, home }) => [env['CODEX_HOME'] || join(home, '.codex')],

  async *discover(place) {
    const titles = await readTitles(place);
    yield* filesAt(place, {
      wants: (name) => NAME.test(basename(name)),
      // The names begin with the time of creation, so originals come before their forks.
      order: (a, b) => (basename(a.path) < basename(b.path) ? -1 : 1),
      about: ({ path }, paths) =>
        path.endsWith('.zst') && paths.has(path.slice(0, -4)) ? undefined : aboutFile(path, titles),
    });
  },

  isRecord: (value) => isFields(value) && ('payload' in value || 'type' in value),
  read: (file, state) => new CodexReader(file, state),
  show: SHOWS.codex,
};

function aboutFile(path: string, titles: ReadonlyMap<string, string>): AboutFile {
  const name = basename(path);
  const [, thread] = NAME.exec(name) ?? [];
  return {
    session: thread ?? name.replace(/\.jsonl(?:\.zst)?$/, ''),
    form: 'lines',
    folders: [dirname(path)],
    ...(name.endsWith('.zst') && { packed: 'zstd' }),
    details: given({ title: asTitle(titles.get(thread ?? ''), 'user') }),
  };
}

/** Text that Codex puts before what a person typed. */
const INJECTED =
  /^\s*(?:# AGENTS\.md instructions|<(?:environment_context|skill|user_shell_command|turn_aborted|subagent_notification|goal_context|external_|codex_internal_context|user_instructions|permissions))/;
const TOKENS = {
  input: 'input_tokens',
  withCache: true,
  output: ['output_tokens'],
  cacheRead: 'cached_input_tokens',
} as const;
/** So many texts of items are remembered, and so many records wait behind an event. */
const RECENT_MAX = 64;
const HELD_MAX = 64;

/** An event with a text, until the item with the same text comes. */
interface Held {
  readonly record: SourceRecord;
  readonly text: string;
  readonly item: string | undefined;
  readonly role: TurnHead['role'];
  readonly rest: Taken[];
}

/** What an import that goes on later needs to know. */
interface State {
  model?: string | undefined;
  /** The totals of the last count of tokens: a count that repeats them adds nothing. */
  tokens?: string | undefined;
  /** Names for the turns before each user turn. */
  readonly starts: string[];
  count: number;
  readonly recent: string[];
  ownMeta: boolean;
}

class CodexReader implements RecordReader {
  readonly #file: SourceFile;
  readonly #saved: State;
  #injected = false;
  #held: Held | undefined;

  constructor(file: SourceFile, state: unknown) {
    this.#file = file;
    const { starts = [], recent = [], ...saved } = (isFields(state) ? state : {}) as Partial<State>;
    this.#saved = { count: 0, ownMeta: false, ...saved, starts: [...starts], recent: [...recent] };
  }

  get heldFrom(): number | undefined {
    return this.#held?.record.offset;
  }

  save(): State {
    return { ...this.#saved };
  }

  end(): readonly Taken[] {
    return this.#release(false);
  }

  take(record: SourceRecord): readonly Taken[] {
    const items = this.#read(record);
    if (this.#held === undefined || this.#held.record === record) return items;
    this.#held.rest.push(...items);
    return this.#held.rest.length > HELD_MAX ? this.#release(false) : [];
  }

  #read(record: SourceRecord): readonly Taken[] {
    const { value } = record;
    if (!isEnvelope(value)) return this.#bare(record);
    const payload = at(value, 'payload');
    switch (textAt(value, 'type') ?? '') {
      case 'session_meta':
        return this.#meta(record, payload);
      case 'turn_context':
        this.#saved.model = textAt(payload, 'model') ?? this.#saved.model;
        return [
          ...detailsOf({ cwd: textAt(payload, 'cwd'), model: this.#saved.model }),
          this.#aside(record),
        ];
      case 'response_item':
        return this.#item(record, payload);
      case 'event_msg':
        return this.#event(record, payload);
      case 'compacted':
        return [
          this.#turn(
            record,
            'marker',
            { kind: 'compaction', summary: (textAt(payload, 'message') ?? '').slice(0, 4000) },
            { heavy: ['/payload/replacement_history'] },
          ),
        ];
      case 'inter_agent_communication':
        return [this.#turn(record, 'message', { role: 'user', flags: ['meta'] }, this.#start())];
      case 'inter_agent_communication_metadata':
      case 'world_state':
      case 'security_risk_score':
        return [this.#aside(record)];
      default:
        return [this.#turn(record, 'event', {})];
    }
  }

  /** Before September 2025 lines were items without an envelope. */
  #bare(record: SourceRecord): readonly Taken[] {
    const { value } = record;
    if (value['record_type'] === 'state') return [this.#aside(record)];
    if (typeof value['type'] === 'string') return this.#item(record, value);
    return this.#meta(record, value);
  }

  #meta(record: SourceRecord, meta: unknown): readonly Taken[] {
    const aside = this.#aside(record);
    // The second one of a fork is that of its parent.
    if (this.#saved.ownMeta) return [aside];
    this.#saved.ownMeta = true;
    const spawn = at(meta, 'source', 'subagent', 'thread_spawn');
    const parent = textAt(meta, 'parent_thread_id') ?? textAt(spawn, 'parent_thread_id');
    const inherits = countAt(meta, 'subagent_history_start_ordinal') > 0;
    const base = textAt(meta, 'history_base', 'thread_id');
    const origin = textAt(meta, 'forked_from_id') ?? base ?? (inherits ? parent : undefined);
    const end = countAt(meta, 'history_base', 'end_ordinal_exclusive');
    const id = textAt(meta, 'id');
    const details = {
      cwd: textAt(meta, 'cwd'),
      branch: textAt(meta, 'git', 'branch'),
      version: textAt(meta, 'cli_version'),
      startedAt: timeAt(meta, 'timestamp'),
      parent: parent === undefined ? undefined : { session: parent },
      copyOf:
        origin === undefined
          ? undefined
          : { session: origin, ...(base !== undefined && end > 0 && { at: `ord:${end - 1}` }) },
      more: given({
        repository: textAt(meta, 'git', 'repository_url'),
        agent: textAt(meta, 'agent_nickname'),
        agentType: textAt(meta, 'agent_role') ?? textAt(spawn, 'agent_role'),
        // The id in the records, if it is not that of the file's name.
        mismatch: id === this.#file.session ? undefined : id,
      }),
    };
    return [...detailsOf(details), aside];
  }

  #item(record: SourceRecord, item: unknown): readonly Taken[] {
    const type = textAt(item, 'type') ?? '';
    if (type === 'ghost_snapshot') return [this.#aside(record)];
    const text = itemText(item);
    const role = roleOf(type, item);
    const known = this.#resolve(text, role, textAt(item, 'id'));
    this.#remember(text, role);
    const isInjected = role === 'user' && type === 'message' && INJECTED.test(text);
    const isPrompt = role === 'user' && type === 'message' && !isInjected;
    // A user turn begins here, the context before it included.
    const start = (isPrompt || isInjected) && !this.#injected ? this.#start() : {};
    this.#injected = isInjected;
    const isMarker =
      type === 'compaction' || type === 'compaction_summary' || type === 'context_compaction';
    if (isMarker) return [...known, this.#turn(record, 'marker', { kind: 'compaction' })];
    const model = role === 'assistant' ? this.#saved.model : undefined;
    const flags = flagsOf({ meta: isInjected || role === 'system' });
    const call = textAt(item, 'call_id');
    const ids = call === undefined ? [] : [`call:${call}`];
    const turn = this.#turn(record, 'message', { role, model, flags }, { ...start, ids });
    return [...known, ...(isPrompt ? titleOf(text) : []), turn];
  }

  /** Remembers where a user turn begins. */
  #start(): { before: string } {
    this.#saved.count += 1;
    const before = `start:${this.#file.size}:${this.#saved.count}`;
    this.#saved.starts.push(before);
    return { before };
  }

  #event(record: SourceRecord, event: unknown): readonly Taken[] {
    const type = textAt(event, 'type') ?? '';
    const textRole = inTable(TEXT_EVENTS, type);
    if (textRole !== undefined) {
      const text = textAt(event, 'message') ?? textAt(event, 'text') ?? '';
      return this.#hold(record, { text, role: textRole, item: undefined });
    }
    if (type === 'item_completed') return this.#completed(record, at(event, 'item'));
    if (type === 'thread_rolled_back') {
      const turns = Math.min(this.#saved.starts.length, Math.max(1, countAt(event, 'num_turns')));
      const [parent = null] = this.#saved.starts.splice(this.#saved.starts.length - turns);
      return [this.#turn(record, 'marker', { kind: 'rollback' }, { parent })];
    }
    if (type === 'turn_aborted') return [this.#turn(record, 'marker', { kind: 'aborted' })];
    if (type === 'thread_name_updated') {
      return [...detailsOf({ title: asTitle(textAt(event, 'thread_name')) }), this.#aside(record)];
    }
    if (type === 'token_count') return [this.#tokenCount(record, at(event, 'info'))];
    return [this.#aside(record)];
  }

  #completed(record: SourceRecord, item: unknown): readonly Taken[] {
    const role = inTable(ITEM_ROLES, textAt(item, 'type'));
    if (role === undefined) return [this.#aside(record)];
    const text =
      textOf(at(item, 'content')) ||
      textAt(item, 'text') ||
      listAt(item, 'summary_text').join('\n');
    if (textAt(item, 'type') === 'Plan') return [this.#turn(record, 'message', { role })];
    return this.#hold(record, { text, role, item: textAt(item, 'id') });
  }

  #tokenCount(record: SourceRecord, info: unknown): Taken {
    const total = at(info, 'total_token_usage');
    const last = at(info, 'last_token_usage');
    const totals = JSON.stringify(total ?? null);
    if (!isFields(last) || totals === this.#saved.tokens) return this.#aside(record);
    this.#saved.tokens = totals;
    const usage = readUsage(last, TOKENS);
    return {
      ...this.#aside(record),
      head: given({ usage, model: this.#saved.model, at: timeAt(record.value, 'timestamp') }),
    };
  }

  /** An event is a turn only if no item has its text. */
  #hold(record: SourceRecord, held: Pick<Held, 'text' | 'role' | 'item'>): readonly Taken[] {
    const released = this.#release(false);
    if (this.#saved.recent.includes(mark(held.text, held.role)))
      return [...released, this.#aside(record)];
    this.#held = { record, ...held, rest: [] };
    return released;
  }

  /** Ends the waiting of an event, if this is the item that it waits for. */
  #resolve(text: string, role: TurnHead['role'], id: string | undefined): readonly Taken[] {
    const held = this.#held;
    if (held === undefined) return [];
    const same =
      (id !== undefined && id === held.item) || (text === held.text && role === held.role);
    return same ? this.#release(true) : [];
  }

  #release(hasItem: boolean): readonly Taken[] {
    const held = this.#held;
    if (held === undefined) return [];
    this.#held = undefined;
    if (hasItem) return [this.#aside(held.record), ...held.rest];
    this.#remember(held.text, held.role);
    const start = held.role === 'user' ? this.#start() : {};
    const turn = this.#turn(held.record, 'message', { role: held.role }, start);
    return [turn, ...held.rest];
  }

  #remember(text: string, role: TurnHead['role']): void {
    if (text === '') return;
    this.#saved.recent.push(mark(text, role));
    if (this.#saved.recent.length > RECENT_MAX) this.#saved.recent.shift();
  }

  #turn(
    record: SourceRecord,
    what: TakenTurn['what'],
    given: Loose<TurnHead>,
    more: Partial<TakenTurn> = {},
  ): TakenTurn {
    const { value, raw } = record;
    const head = { at: timeAt(value, 'timestamp'), ...given };
    const parts = [{ value, raw, text: contentOf(value) }];
    const ids = [...(more.ids ?? []), ...ordinalOf(value)];
    return turnOf(record, what, head, { parts, ...more, ids });
  }

  #aside({ value, raw }: SourceRecord): Taken & { do: 'aside' } {
    const [id] = ordinalOf(value);
    return { do: 'aside', raw, ...(id === undefined ? { text: contentOf(value) } : { id }) };
  }
}

// The parts of a record of Codex, and the names of its threads.

/** Events that repeat the text of an item, and who speaks in them. */
const TEXT_EVENTS: Readonly<Record<string, TurnHead['role']>> = {
  user_message: 'user',
  agent_message: 'assistant',
  agent_reasoning: 'assistant',
};

const ITEM_ROLES: Readonly<Record<string, TurnHead['role']>> = {
  UserMessage: 'user',
  AgentMessage: 'assistant',
  Reasoning: 'assistant',
  Plan: 'assistant',
};

const SPEAKERS: Readonly<Record<string, TurnHead['role']>> = {
  user: 'user',
  assistant: 'assistant',
  developer: 'system',
  system: 'system',
};

/** Without its time and number, which change when a file is written anew. */
function contentOf(value: SourceRecord['value']): string {
  return isEnvelope(value)
    ? `${textAt(value, 'type') ?? ''} ${canonicalJson(at(value, 'payload'))}`
    : canonicalJson(value);
}

function ordinalOf(value: SourceRecord['value']): string[] {
  const ordinal = value['ordinal'];
  return typeof ordinal === 'number' ? [`ord:${ordinal}`] : [];
}

function itemText(item: unknown): string {
  const summary = listAt(item, 'summary');
  return textOf(summary.length > 0 ? summary : at(item, 'content'));
}

function roleOf(type: string, item: unknown): TurnHead['role'] {
  if (type === 'message') return inTable(SPEAKERS, textAt(item, 'role')) ?? 'assistant';
  if (type === 'agent_message') return 'user';
  return type.endsWith('_output') ? 'tool' : 'assistant';
}

function mark(text: string, role: TurnHead['role']): string {
  return `${role ?? ''} ${text.length} ${text.slice(0, 100)}`;
}

const INDEX_BYTES_MAX = 64 * 1024 * 1024;

/** The names of threads in `session_index.jsonl`; the last line of a thread counts. */
async function readTitles(home: string): Promise<Map<string, string>> {
  const titles = new Map<string, string>();
  const text = (await readSmallText(join(home, 'session_index.jsonl'), INDEX_BYTES_MAX)) ?? '';
  for (const line of text.split('\n')) {
    for (const { value } of parseJsonLine(line, () => true).records) {
      const [id, title] = [textAt(value, 'id'), textAt(value, 'thread_name')];
      if (id !== undefined && title !== undefined) titles.set(id, title);
    }
  }
  return titles;
}
