import { basename, dirname, join } from 'node:path';
import { given } from '../../base/given.ts';
import { at, inTable, listAt, textAt, textOf, timeAt } from '../source/fields.ts';
import type {
  RecordReader,
  Source,
  SourceFile,
  SourceRecord,
  Taken,
  TurnHead,
} from '../source/source.ts';
import type { FoundFile } from '../source/walk-folder.ts';
import { SHOWS } from '../show/show-records.ts';
import {
  asTitle,
  detailsOf,
  filesAt,
  flagsOf,
  readUsage,
  titleOf,
  turnOf,
  type AboutFile,
  type Loose,
} from './shared.ts';

// pi and oh-my-pi: `sessions/<folder>/<time>_<id>.jsonl`, a header and then entries that form a tree by `id` and
// `parentId`. oh-my-pi also has blobs, artifacts with the sessions of subagents, and an archive.

export const pi: Source = createSource('pi', 'pi', ({ env, home }) => {
  const agent = env['PI_CODING_AGENT_DIR'] || join(home, '.pi', 'agent');
  return [env['PI_CODING_AGENT_SESSION_DIR'] || join(agent, 'sessions')];
});

// The variable is that of pi, too: a home that only has sessions of pi is pi's.
export const omp: Source = createSource('omp', 'oh-my-pi', ({ home }) => [
  join(home, '.omp', 'agent'),
]);

const NAME = /^[0-9TZ:.-]+_(.+)\.jsonl(\.gz)?$/;

function createSource(name: 'pi' | 'omp', title: string, homes: Source['homes']): Source {
  return {
    name,
    title,
    homes,

    discover: (place) =>
      filesAt(place, {
        wants: (file) => /\.jsonl(?:\.gz)?$/.test(file),
        // A file stands before those in the folder of its name; times in names put originals before copies.
        order: (a, b) => (below(a) < below(b) ? -1 : 1),
        about: ({ path }, _, root) => ({
          ...aboutFile(path),
          ...(name === 'omp' && { blobFolder: blobsOf(root) }),
        }),
      }),

    isRecord: (value) => typeof (textAt(value, 'type') ?? textAt(value, 'kind')) === 'string',
    read: (file, state) => new PiReader(file, state),
    show: SHOWS[name],
  };
}

/** The name of a file below the first folder. */
function below({ name }: FoundFile): string {
  return name.split('/').slice(1).join('/') || name;
}

function aboutFile(path: string): AboutFile {
  const file = basename(path);
  const [, id] = NAME.exec(file) ?? [];
  const owner = id === undefined ? NAME.exec(`${basename(dirname(path))}.jsonl`)?.[1] : undefined;
  const agent = file.replace(/\.jsonl(?:\.gz)?$/, '');
  const parent = owner ?? parentOf(path);
  return {
    session: id ?? (parent === undefined ? agent : `${parent}/${agent}`),
    form: 'lines',
    ...(file.endsWith('.gz') && { packed: 'gzip' }),
    ...(parent !== undefined && {
      details: { parent: { session: parent, agent }, more: { agent } },
    }),
  };
}

/** Children of subagents stand in folders of their parents' names. */
function parentOf(path: string): string | undefined {
  const folder = dirname(path);
  const owner = NAME.exec(`${basename(dirname(folder))}.jsonl`)?.[1];
  return owner === undefined ? undefined : `${owner}/${basename(folder)}`;
}

/** Blobs stand beside the folder of sessions. */
function blobsOf(home: string): string {
  const [agent] = home.split(/\/(?:sessions|archive)(?:\/|$)/);
  return join(agent ?? home, 'blobs');
}

const EVENTS = new Set([
  'archive',
  'custom',
  'label',
  'mcp_tool_selection',
  'mode_change',
  'model_change',
  'model_usage',
  'service_tier_change',
  'session_info',
  'session_init',
  'thinking_level_change',
  'title_change',
  'ttsr_injection',
]);
const MARKERS: Readonly<Record<string, string>> = {
  compaction: 'compaction',
  branch_summary: 'branch',
  reset_boundary: 'reset',
};
const ROLES: Readonly<Record<string, TurnHead['role']>> = {
  user: 'user',
  assistant: 'assistant',
  toolResult: 'tool',
  bashExecution: 'tool',
  pythonExecution: 'tool',
  developer: 'system',
  fileMention: 'user',
};
const CUT = '[Session persistence truncated large content]';

class PiReader implements RecordReader {
  readonly #file: SourceFile;
  /** Version 1 has no ids: entries follow each other. */
  #hasIds: boolean;

  constructor(file: SourceFile, state: unknown) {
    this.#file = file;
    this.#hasIds = at(state, 'hasIds') !== false;
  }

  save(): unknown {
    return { hasIds: this.#hasIds };
  }

  take(record: SourceRecord): readonly Taken[] {
    const { value } = record;
    const kind = textAt(value, 'kind');
    if (kind === 'header' || textAt(value, 'type') === 'session') return this.#header(record);
    if (textAt(value, 'type') === 'title') {
      return [...titled(value['title'], value['source']), this.#aside(record)];
    }
    if (kind === 'fact') return [...titled(value['name'], 'user'), this.#aside(record)];
    if (kind === 'lane' || kind === 'record') return [this.#aside(record)];
    return this.#entry(record);
  }

  #header(record: SourceRecord): readonly Taken[] {
    const { value } = record;
    this.#hasIds = value['kind'] === 'header' || value['version'] !== undefined;
    const origin =
      textAt(value, 'parentSession') ??
      textAt(value, 'parentSessionId') ??
      textAt(value, 'branchedFrom');
    const session = origin && (NAME.exec(basename(origin))?.[1] ?? origin);
    const id = textAt(value, 'id');
    const details = {
      cwd: textAt(value, 'cwd'),
      startedAt: timeAt(value, 'timestamp') ?? timeAt(value, 'createdAt'),
      model: modelOf(value),
      copyOf: session === undefined ? undefined : { session },
      more: given({ mismatch: id === this.#file.session.split('/').at(-1) ? undefined : id }),
    };
    return [
      ...detailsOf(details),
      ...titled(value['title'], value['titleSource']),
      this.#aside(record),
    ];
  }

  #entry(record: SourceRecord): readonly Taken[] {
    const { value } = record;
    const type = textAt(value, 'type') ?? '';
    const head = { at: timeAt(value, 'timestamp') ?? timeAt(value, 'message', 'timestamp') };
    if (type === 'message') return this.#message(record, head);
    if (type === 'custom_message') {
      return [this.#turn(record, 'message', { ...head, role: 'user', flags: ['meta'] })];
    }
    const marked = inTable(MARKERS, type);
    if (marked !== undefined) {
      const summary = (textAt(value, 'summary') ?? '').slice(0, 4000);
      const heavy = type === 'compaction' ? ['/retainedTail'] : [];
      const marker = { ...head, kind: marked, summary: summary || undefined };
      return [this.#turn(record, 'marker', marker, heavy)];
    }
    if (type === 'credential_pin') return [this.#aside({ ...record, raw: withoutSecrets(value) })];
    if (!EVENTS.has(type)) return [this.#turn(record, 'event', head)];
    return [...noted(type, value), this.#aside(record)];
  }

  #message(record: SourceRecord, before: Loose<TurnHead>): readonly Taken[] {
    const message = at(record.value, 'message');
    const role = inTable(ROLES, textAt(message, 'role'));
    const model = role === 'assistant' ? modelOf(message) : undefined;
    const head = {
      ...before,
      role: role ?? 'user',
      model,
      usage: readUsage(at(message, 'usage'), TOKENS),
      flags: flagsOf({
        meta: role === undefined,
        truncated: record.raw.includes(CUT),
        interrupted: textAt(message, 'stopReason') === 'aborted',
      }),
    };
    const said = role === 'user' ? titleOf(textOf(at(message, 'content'))) : [];
    return [...detailsOf({ model }), ...said, this.#turn(record, 'message', head)];
  }

  #turn(
    record: SourceRecord,
    what: 'message' | 'marker' | 'event',
    head: Loose<TurnHead>,
    heavy: readonly string[] = [],
  ): Taken {
    const { value, raw } = record;
    return turnOf(record, what, head, {
      ...(!this.#hasIds && { parts: [{ raw, value }] }),
      ...this.#link(value),
      heavy,
      ids: calls(value),
      alike: alikeOf(value),
    });
  }

  #aside({ value, raw }: SourceRecord): Taken {
    const id = this.#hasIds && 'parentId' in value ? textAt(value, 'id') : undefined;
    return { do: 'aside', raw, ...(id !== undefined && { id }), ...this.#link(value) };
  }

  #link(value: SourceRecord['value']): { parent?: string | null } {
    const parent = value['parentId'];
    if (!this.#hasIds) return {};
    return typeof parent === 'string' || parent === null ? { parent } : {};
  }
}

/** Takes the facts about a session from an entry that is no turn. */
function noted(type: string, value: SourceRecord['value']): Taken[] {
  if (type === 'model_change') {
    return detailsOf({ model: textAt(value, 'model') ?? modelOf(value) });
  }
  if (type === 'session_info') return titled(value['name'], 'user');
  return type === 'title_change' ? titled(value['title'], value['source']) : [];
}

function titled(title: unknown, source: unknown): Taken[] {
  if (typeof title !== 'string' || title === '') return [];
  return detailsOf({ title: asTitle(title, source === 'user' ? 'user' : 'generated') });
}

function modelOf(value: unknown): string | undefined {
  const model = textAt(value, 'model') ?? textAt(value, 'modelId');
  const provider = textAt(value, 'provider');
  return model === undefined || provider === undefined ? model : `${provider}/${model}`;
}

const TOKENS = {
  input: 'input',
  output: ['output'],
  cacheRead: 'cacheRead',
  cacheWrite: 'cacheWrite',
} as const;

/** Subagents are linked to the call that started them. */
function calls(value: SourceRecord['value']): string[] {
  return listAt(value, 'message', 'content')
    .filter((block) => textAt(block, 'type') === 'toolCall' && textAt(block, 'name') === 'task')
    .map((block) => `call:${textAt(block, 'id') ?? ''}`);
}

/** Copies keep ids and times; an id alone may come again in another session. */
function alikeOf({ id, timestamp, message }: SourceRecord['value']): string[] {
  const text = textOf(at(message, 'content')).slice(0, 200);
  if (typeof id !== 'string' || timestamp === undefined) return [];
  return [`${id} ${JSON.stringify(timestamp)} ${text}`];
}

function withoutSecrets({ type, id, parentId, timestamp }: SourceRecord['value']): string {
  return JSON.stringify({ type, id, parentId, timestamp, dropped: true });
}
