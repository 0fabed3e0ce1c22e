import { isFields } from '../../base/fields.ts';
import { basename, dirname, join } from 'node:path';
import { given } from '../../base/given.ts';
import { at, listAt, textAt, timeAt } from '../source/fields.ts';
import type {
  RecordReader,
  SessionDetails,
  Source,
  SourceRecord,
  Taken,
  TakenPart,
  TakenTurn,
  TurnHead,
} from '../source/source.ts';
import { readSmallText, type FoundFile } from '../source/walk-folder.ts';
import { SHOWS } from '../show/show-records.ts';
import {
  detailsOf,
  filesAt,
  flagsOf,
  readUsage,
  titleOf,
  turnOf,
  type AboutFile,
  type Loose,
} from './shared.ts';

// Copilot CLI: `session-state/<session>/events.jsonl`, older `session-state/<session>.jsonl`. A file is one chain; the
// records of a subagent are among them, with its id.

export const copilot: Source = {
  name: 'copilot',
  title: 'Copilot CLI',
  homes: ({ env, home }) => [env['COPILOT_HOME'] || join(home, '.copilot')],

  discover: (place) =>
    filesAt(place, {
      wants: (name) => /(?:^|\/)session-state\/(?:[^/]+\/events|[^/]+)\.jsonl$/.test(name),
      about: aboutFile,
    }),

  isRecord: (value) => typeof textAt(value, 'type') === 'string' && isFields(at(value, 'data')),
  read: () => new CopilotReader(),
  show: SHOWS.copilot,
};

async function aboutFile({ path }: FoundFile): Promise<AboutFile> {
  const isFolder = basename(path) === 'events.jsonl';
  const session = isFolder ? basename(dirname(path)) : basename(path, '.jsonl');
  const title = isFolder ? await nameOf(join(dirname(path), 'workspace.yaml')) : undefined;
  return {
    session,
    form: 'lines',
    ...(title !== undefined && { details: { title: { text: title, from: 'user' } } }),
  };
}

const YAML_BYTES_MAX = 65_536;

async function nameOf(path: string): Promise<string | undefined> {
  const text = (await readSmallText(path, YAML_BYTES_MAX)) ?? '';
  const [, name] = /^name: *["']?(.*?)["']?\s*$/m.exec(text) ?? [];
  return name === '' ? undefined : name;
}

/** Parts of one answer. */
interface Chunks {
  readonly message: string;
  readonly offset: number;
  readonly session: string | undefined;
  readonly parts: TakenPart[];
}

class CopilotReader implements RecordReader {
  #chunks: Chunks | undefined;

  get heldFrom(): number | undefined {
    return this.#chunks?.offset;
  }

  end(): readonly Taken[] {
    return this.#close();
  }

  take(record: SourceRecord): readonly Taken[] {
    const { value, raw, offset } = record;
    const message = textAt(value, 'data', 'messageId');
    if (textAt(value, 'type') !== 'assistant.message' || message === undefined) {
      return [...this.#close(), ...read(record)];
    }
    const part = { id: textAt(value, 'id'), raw, value };
    const { session } = laneOf(value);
    const chunks = this.#chunks;
    if (chunks?.message === message && chunks.session === session) {
      chunks.parts.push(part);
      return [];
    }
    const closed = this.#close();
    this.#chunks = { message, offset, session, parts: [part] };
    return closed;
  }

  #close(): readonly Taken[] {
    const chunks = this.#chunks;
    if (chunks === undefined) return [];
    this.#chunks = undefined;
    const [first] = chunks.parts;
    const model = textAt(first?.value, 'data', 'model');
    const ids = chunks.parts.flatMap(({ value }) =>
      listAt(value, 'data', 'toolRequests').map(
        (call) => `call:${textAt(call, 'toolCallId') ?? ''}`,
      ),
    );
    const { session, parts } = chunks;
    const head = given({
      at: timeAt(first?.value, 'timestamp'),
      role: 'assistant' as const,
      model,
    });
    return [
      ...detailsOf({ model }, session),
      { do: 'turn', ...given({ session }), what: 'message', parts, head, ids },
    ];
  }
}

/** The records of a subagent are a session of their own. */
function laneOf(value: SourceRecord['value']): { session?: string } {
  const agent = textAt(value, 'agentId') ?? textAt(value, 'data', 'parentToolCallId');
  return agent === undefined ? {} : { session: `/agent-${agent}` };
}

function read(record: SourceRecord): readonly Taken[] {
  const { value } = record;
  const data = value['data'];
  const time = timeAt(value, 'timestamp');
  const content = textAt(data, 'content') ?? '';
  const turn = (what: TakenTurn['what'], head: Loose<TurnHead>): TakenTurn =>
    turnOf(record, what, head, laneOf(value));
  switch (textAt(value, 'type') ?? '') {
    case 'session.start':
      return [...detailsOf(startOf(data)), aside(record)];
    case 'user.message': {
      const isMeta =
        textAt(data, 'source')?.startsWith('skill-') === true ||
        content.startsWith('<skill-context');
      const flags = flagsOf({ meta: isMeta });
      const said = isMeta || laneOf(value).session !== undefined ? [] : titleOf(content);
      return [...said, turn('message', { at: time, role: 'user', flags })];
    }
    case 'tool.execution_complete':
      return [turn('message', { at: time, role: 'tool' })];
    case 'system.message':
    case 'system.notification':
      return [turn('message', { at: time, role: 'system', flags: ['meta'] })];
    case 'session.compaction_complete': {
      const summary = (textAt(data, 'summaryContent') ?? '').slice(0, 4000);
      return [turn('marker', { at: time, kind: 'compaction', summary })];
    }
    case 'session.model_change':
      return [...detailsOf({ model: textAt(data, 'newModel') }), aside(record)];
    case 'session.shutdown':
      return shutdown(record, data);
    case 'subagent.started':
      return [...started(data), aside(record)];
    default:
      return isKnown(textAt(value, 'type') ?? '') ? [aside(record)] : [turn('event', { at: time })];
  }
}

function isKnown(type: string): boolean {
  return /^(?:assistant|hook|permission|session|subagent|tool|user|system|skill|abort)\b/.test(
    type,
  );
}

function startOf(data: unknown): SessionDetails {
  return given({
    cwd: textAt(data, 'context', 'cwd'),
    branch: textAt(data, 'context', 'branch'),
    version: textAt(data, 'copilotVersion'),
    startedAt: timeAt(data, 'startTime'),
    more: given({ repository: textAt(data, 'context', 'repository') }),
  });
}

function started(data: unknown): Taken[] {
  const call = textAt(data, 'toolCallId');
  if (call === undefined) return [];
  const more = given({ agent: textAt(data, 'agentName') });
  return detailsOf({ model: textAt(data, 'model'), more }, `/agent-${call}`);
}

const TOKENS = {
  input: 'inputTokens',
  withCache: true,
  output: ['outputTokens'],
  cacheRead: 'cacheReadTokens',
  cacheWrite: 'cacheWriteTokens',
} as const;

/** Tokens by model, stated once, when the session ends. */
function shutdown(record: SourceRecord, data: unknown): readonly Taken[] {
  const metrics = at(data, 'modelMetrics');
  const models = isFields(metrics) ? Object.entries(metrics) : [];
  const time = timeAt(record.value, 'timestamp');
  const counted = models.map(([model, metric], index): Taken => {
    const head = given({ at: time, model, usage: readUsage(at(metric, 'usage') ?? {}, TOKENS) });
    const id = textAt(record.value, 'id');
    const own = index === 0 || id === undefined ? {} : { id: `${id} ${model}` };
    return { ...aside(record), ...own, head };
  });
  return counted.length > 0 ? counted : [aside(record)];
}

function aside({ value, raw }: SourceRecord): Taken & { do: 'aside' } {
  const id = textAt(value, 'id');
  return { do: 'aside', ...laneOf(value), raw, ...(id !== undefined && { id }) };
}
