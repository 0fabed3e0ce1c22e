import { isFields } from '../../base/fields.ts';
import { basename, dirname, join } from 'node:path';
import { hashText } from '../../base/hash.ts';
import { given } from '../../base/given.ts';
import { at, listAt, textAt, textOf, timeAt } from '../source/fields.ts';
import type { RecordReader, Source, SourceRecord, Taken, TakenTurn } from '../source/source.ts';
import { readSmallText } from '../source/walk-folder.ts';
import { SHOWS } from '../show/show-records.ts';
import { asTitle, detailsOf, filesAt, readUsage, titleOf, type AboutFile } from './shared.ts';

// Gemini CLI: `tmp/<project>/chats/session-<time>-<8 of the id>.jsonl`, older one JSON object in `.json`. The file is a log
// to replay: a record with a known id replaces the message, others go back or replace the whole list. Only the last
// version of a message counts, so all of it is held back until the file has ended. Files are of moderate size.

const NAME = /^session-.*\.jsonl?$/;

export const gemini: Source = {
  name: 'gemini',
  title: 'Gemini CLI',
  homes: ({ env, home }) => [join(env['GEMINI_CLI_HOME'] || home, '.gemini')],

  discover: (place) =>
    filesAt(place, {
      wants: (name) =>
        /(?:^|\/)chats\/(?:[^/]+\/)?[^/]+\.jsonl?$/.test(name) &&
        (NAME.test(basename(name)) || /chats\/[^/]+\/[^/]+\.jsonl$/.test(name)),
      // A session that was resumed has a newer file beside the old one, with the same messages.
      about: ({ path }, paths) =>
        path.endsWith('.json') && paths.has(`${path}l`) ? undefined : aboutFile(path),
    }),

  isRecord: isFields,
  read: () => new GeminiReader(),
  show: SHOWS.gemini,
};

async function aboutFile(path: string): Promise<AboutFile> {
  const chats = path.split('/chats/')[0] ?? dirname(path);
  const name = basename(path).replace(/\.jsonl?$/, '');
  const folder = basename(dirname(path));
  const parent = folder === 'chats' || !path.includes('/chats/') ? undefined : folder;
  const root = await rootOf(chats);
  return {
    session: parent === undefined ? name : `${parent}/${name}`,
    form: path.endsWith('.json') ? 'whole' : 'lines',
    details: {
      ...(root !== undefined && { cwd: root }),
      ...(parent !== undefined && { parent: { session: parent, agent: name } }),
    },
  };
}

const ROOT_BYTES_MAX = 4096;

/** The folder of a project; older projects only have its hash. */
async function rootOf(project: string): Promise<string | undefined> {
  const text = await readSmallText(join(project, '.project_root'), ROOT_BYTES_MAX);
  return text?.trim() || undefined;
}

interface Message {
  readonly id: string;
  readonly value: Readonly<Record<string, unknown>>;
  readonly raw: string;
  /** The name of the turn, once it is one. */
  key?: string;
}

class GeminiReader implements RecordReader {
  #messages: Message[] = [];
  #markers = 0;
  readonly #out: Taken[] = [];
  /** Always from the beginning: any message may still change. */
  readonly heldFrom = 0;

  take(record: SourceRecord): readonly Taken[] {
    const { value, raw } = record;
    const id = textAt(value, 'id');
    if (typeof value['$rewindTo'] === 'string') this.#rewind(value['$rewindTo'], raw);
    else if (id !== undefined && !('projectHash' in value)) this.#put({ id, value, raw });
    else if (isFields(value['$set'])) this.#set(value['$set'], raw);
    else this.#about(value, raw);
    return [];
  }

  end(): readonly Taken[] {
    this.#emit();
    return this.#out.splice(0);
  }

  #about(value: SourceRecord['value'], raw: string): void {
    const { messages, ...about } = value;
    const details = {
      startedAt: timeAt(about, 'startTime'),
      title: asTitle(textAt(about, 'summary') || undefined),
      more: given({ sessionId: textAt(about, 'sessionId') }),
    };
    this.#out.push(...detailsOf(details), {
      do: 'aside',
      raw: Array.isArray(messages) ? JSON.stringify(about) : raw,
    });
    for (const message of messagesOf(messages)) this.#put(message);
  }

  #put(message: Message): void {
    const index = this.#messages.findIndex(({ id }) => id === message.id);
    const known = this.#messages[index];
    if (known === undefined) this.#messages.push(message);
    else if (known.key === undefined) this.#messages[index] = message;
    // The message is on a branch already: the new version is kept beside it.
    else this.#out.push({ do: 'aside', raw: message.raw });
  }

  /** An unknown id removes all. */
  #rewind(id: string, raw: string): void {
    this.#emit();
    const index = Math.max(
      0,
      this.#messages.findIndex((message) => message.id === id),
    );
    this.#messages = this.#messages.slice(0, index);
    this.#mark('rewind', raw, undefined);
  }

  #set(set: Readonly<Record<string, unknown>>, raw: string): void {
    const { messages, ...about } = set;
    this.#out.push(...detailsOf({ title: asTitle(textAt(about, 'summary') || undefined) }));
    if (Array.isArray(messages)) this.#replace(messagesOf(messages), raw);
    else this.#out.push({ do: 'aside', raw });
  }

  #replace(next: readonly Message[], raw: string): void {
    const [before, after] = [this.#messages.filter(counts), next.filter(counts)];
    const common = before.findIndex(({ id }, index) => after[index]?.id !== id);
    const kept = common === -1 ? before.length : common;
    const isGone = kept < before.length;
    const masked = before.slice(0, kept).some((message, index) => {
      const other = after[index];
      return other !== undefined && contentOf(other.value) !== contentOf(message.value);
    });
    const fresh = after.slice(kept);
    if (isGone) {
      this.#emit();
      const last = before[kept - 1];
      this.#messages =
        last === undefined ? [] : this.#messages.slice(0, this.#messages.indexOf(last) + 1);
      const summary = fresh.find(({ value }) => value['type'] === 'user');
      this.#mark('compaction', raw, textOf(at(summary?.value, 'content')).slice(0, 4000));
    } else if (masked) {
      this.#emit();
      this.#mark('masked', raw, undefined);
    } else this.#out.push({ do: 'aside', raw });
    for (const message of fresh) this.#put(message);
  }

  #mark(kind: string, raw: string, summary: string | undefined): void {
    this.#markers += 1;
    const value = { kind, ...(summary !== undefined && { summary }) };
    this.#messages.push({ id: `marker ${this.#markers}`, value, raw });
  }

  /** Makes turns of the messages that are none yet, each after the one before it in the list. */
  #emit(): void {
    let parent: string | null = null;
    for (const message of this.#messages) {
      const { id, value, raw } = message;
      if (message.key === undefined) {
        const item = toTaken(message, parent);
        if (item === undefined) {
          this.#out.push({ do: 'aside', raw });
          continue;
        }
        message.key = `${id} ${hashText(raw).slice(0, 16)}`;
        const said = value['type'] === 'user' ? titleOf(textOf(value['content'])) : [];
        const isMeta = item.head.flags !== undefined || item.head.role === 'tool';
        const parts = [{ id: message.key, raw, value }];
        const { model } = item.head;
        this.#out.push(...detailsOf({ model }), ...(isMeta ? [] : said), { ...item, parts });
      }
      parent = message.key;
    }
  }
}

/** The messages of a list that can be told apart. */
function messagesOf(list: unknown): Message[] {
  return (Array.isArray(list) ? list : []).flatMap((value: unknown): Message[] => {
    const id = textAt(value, 'id');
    return isFields(value) && id !== undefined ? [{ id, value, raw: JSON.stringify(value) }] : [];
  });
}

/** Messages that a rewritten list is compared by. */
function counts({ id, value }: Message): boolean {
  const type = textAt(value, 'type');
  if (type !== 'user' && type !== 'gemini') return false;
  return !id.endsWith('_response') && !isInjected(value) && !isResult(value);
}

function isInjected(value: unknown): boolean {
  return /^\s*<(?:session_context|hook_context)>/.test(textOf(at(value, 'content')));
}

function isResult(value: unknown): boolean {
  const parts = listAt(value, 'content');
  return parts.length > 0 && parts.every((part) => at(part, 'functionResponse') !== undefined);
}

/** Strings as text parts, and without thoughts: a resume writes one for the other. */
function contentOf(value: unknown): string {
  const content = at(value, 'content');
  const parts = (Array.isArray(content) ? content : [content]).filter(
    (part) => at(part, 'thought') !== true,
  );
  return JSON.stringify([
    parts.map((part: unknown) => (typeof part === 'string' ? { text: part } : part)),
    at(value, 'toolCalls') ?? null,
  ]);
}

/** Undefined for what is no turn. */
function toTaken({ id, value }: Message, parent: string | null): TakenTurn | undefined {
  const before = given({ at: timeAt(value, 'timestamp') });
  const base = { do: 'turn' as const, parent, parts: [] };
  if (id.startsWith('marker ')) {
    const { kind, summary } = value;
    const head = { kind: String(kind), ...(typeof summary === 'string' && { summary }) };
    return { ...base, what: 'marker', head };
  }
  const type = textAt(value, 'type');
  const text = textOf(value['content']);
  if (type === 'gemini') {
    const calls = listAt(value, 'toolCalls').map((call) => `call:${textAt(call, 'id') ?? ''}`);
    const agents = listAt(value, 'toolCalls').flatMap((call) => {
      const agent = textAt(call, 'agentId');
      return agent === undefined ? [] : [`agent:${agent}`];
    });
    const head = given({
      ...before,
      role: 'assistant' as const,
      model: textAt(value, 'model'),
      usage: readUsage(value['tokens'], TOKENS),
    });
    return { ...base, what: 'message', head, ids: [...calls, ...agents] };
  }
  if (type === 'info' || type === 'warning' || type === 'error') return undefined;
  if (type !== 'user') return { ...base, what: 'event', head: before };
  if (isResult(value)) return { ...base, what: 'message', head: { ...before, role: 'tool' } };
  if (/^[/?]/.test(text) || isInjected(value)) return undefined;
  return { ...base, what: 'message', head: { ...before, role: 'user' } };
}

const TOKENS = {
  input: 'input',
  withCache: true,
  output: ['output', 'thoughts'],
  cacheRead: 'cached',
} as const;
