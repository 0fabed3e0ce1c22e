import { z } from 'zod';
import { given } from '../base/given.ts';
import { invalid, notFound } from '../base/errors.ts';
import type { Store } from '../store/store.ts';
import { clip, fitEntries, readPart, toEntry } from './bounded-text.ts';
import { KINDS, THREADS, findContext, readAround } from './threads.ts';

// The tools as values: the schema of a tool checks its input and describes it to the client.

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodObject;
  /** Offered only when the server was told to allow writes. */
  readonly writes: boolean;
  run(store: Store, input: unknown): Promise<unknown>;
}

function defineTool<I extends z.ZodObject>(
  tool: Omit<Tool, 'run' | 'input'> & {
    readonly input: I;
    run(store: Store, input: z.output<I>): Promise<unknown>;
  },
): Tool {
  return { ...tool, run: (store, input) => tool.run(store, tool.input.parse(input)) };
}

const SEARCH_WAIT_MS = 20_000;
const SNIPPET_CHARS = 600;
const NOTE_CHARS_MAX = 100_000;
const RECALL_ENTRIES = 3;

const id = z.string().min(1).max(512);
const cursor = z.string().min(1).max(4096).optional().describe('From the page before');
const upTo = (most: number, usual: number): z.ZodDefault<z.ZodNumber> =>
  z.number().int().min(1).max(most).default(usual);
const kind = z.enum(KINDS).default('context').describe('The kind of thread');
const context = id.describe('The id of a context, or @ and its name');
const labels = z.array(z.string().min(1).max(128)).max(16).optional();

export const TOOLS: readonly Tool[] = [
  defineTool({
    name: 'search',
    title: 'Search the history',
    description:
      'Finds what was ever said in any thread. All words must occur. "a phrase", pre*, -not, a OR b; fields: kind: ' +
      'type: role: tool: model: context: label: before: after: (a date, or an age such as 7d). Each hit has a kind, ' +
      'a thread and an id for read_around.',
    input: z.strictObject({
      query: z.string().min(1).max(2000),
      order: z.enum(['best', 'newest']).default('best'),
      limit: upTo(25, 10),
      cursor,
    }),
    writes: false,
    async run(store, { query, order, limit, cursor: from }) {
      const page = from === undefined ? {} : { cursor: from };
      const answer = await store.search(query, { order, limit, waitMs: SEARCH_WAIT_MS, ...page });
      return {
        hits: answer.hits.map(({ kind: of, thread, id: ref, at, type, role, snippet }) => ({
          kind: of,
          thread,
          id: ref,
          at: new Date(at).toISOString(),
          type,
          role,
          text: clip(snippet.text, SNIPPET_CHARS),
        })),
        matches: answer.matches,
        cursor: answer.cursor,
        ...(!answer.index.upToDate && { note: 'the index is behind: newer texts may be missing' }),
      };
    },
  }),
  defineTool({
    name: 'read_around',
    title: 'Read around a hit',
    description: 'Reads the entries before and after one, such as a hit of a search.',
    input: z.strictObject({ kind, thread: id, id, count: upTo(10, 3) }),
    writes: false,
    async run(store, { kind: of, ...hit }) {
      if (of === 'context' && !/^[1-9]\d{0,19}$/.test(hit.id))
        throw invalid('id', 'must be the id of a turn');
      return { entries: fitEntries(await readAround(store, of, hit)) };
    },
  }),
  defineTool({
    name: 'list_threads',
    title: 'List threads',
    description: 'Lists threads, the last used first. Conditions are for contexts.',
    input: z.strictObject({
      kind,
      label: z.string().min(1).max(128).optional(),
      name_prefix: z.string().min(1).max(250).optional(),
      limit: upTo(50, 20),
      cursor,
    }),
    writes: false,
    run: (store, { kind: of, ...query }) => THREADS[of].list(store, query),
  }),
  defineTool({
    name: 'read_thread',
    title: 'Read a thread',
    description:
      'Reads the newest entries of a thread, oldest of them first. The cursor leads to older ones.',
    input: z.strictObject({ kind, thread: id, limit: upTo(50, 20), cursor }),
    writes: false,
    async run(store, { kind: of, thread, ...query }) {
      const page = await THREADS[of].read(store, thread, query);
      return { ...page, entries: fitEntries(page.entries) };
    },
  }),
  defineTool({
    name: 'read_turn',
    title: 'Read one turn',
    description:
      'Reads the whole text of a turn of a context, in parts of 32 KiB. Pass `next` as the offset.',
    input: z.strictObject({ turn: id, offset: z.number().int().min(0).default(0) }),
    writes: false,
    async run(store, { turn: given, offset }) {
      const turn = await store.contexts.turn(given, { payload: false });
      if (turn === undefined) throw notFound('turn', given, `there is no turn ${clip(given, 100)}`);
      const { text: _, ...facts } = toEntry(turn);
      return { ...facts, context: String(turn.context), ...(await readPart(store, turn, offset)) };
    },
  }),
  defineTool({
    name: 'recall',
    title: 'Recall by label',
    description:
      'Reads the newest entries of the contexts with a label, the last used context first.',
    input: z.strictObject({ label: z.string().min(1).max(128), limit: upTo(10, 5), cursor }),
    writes: false,
    async run(store, query) {
      const { threads, cursor: next } = await THREADS.context.list(store, query);
      const contexts = [];
      for (const thread of threads) {
        const last = { limit: RECALL_ENTRIES };
        const { entries } = await THREADS.context.read(store, thread.id, last);
        contexts.push({ ...thread, entries: fitEntries(entries).map(shorter) });
      }
      return { contexts, cursor: next };
    },
  }),
  defineTool({
    name: 'fork',
    title: 'Fork a thread',
    description:
      'Makes a new context that begins with the turns of another, up to its head or up to a turn.',
    input: z.strictObject({
      context: context.optional(),
      turn: id.optional().describe('Fork at this turn'),
      name: z.string().min(1).max(512).optional(),
      title: z.string().max(1024).optional(),
      labels,
    }),
    writes: true,
    async run(store, { context: name, turn, ...details }) {
      if ((name === undefined) === (turn === undefined))
        throw invalid('context', 'or turn: give one of the two');
      const base = turn ?? (await findContext(store, name ?? '')).head;
      const made = await store.contexts.create({
        ...given(details),
        ...(base !== 0n && { base }),
      });
      return { context: String(made.id), head: String(made.head), name: made.name };
    },
  }),
  defineTool({
    name: 'append_note',
    title: 'Append a note',
    description:
      'Appends a text to a context. A name after @ that is not there yet makes a new context, with the labels, so ' +
      'that recall finds it. Nothing is ever overwritten.',
    input: z.strictObject({
      context,
      text: z.string().min(1).max(NOTE_CHARS_MAX),
      labels: labels.describe('Of the context, if it is new'),
    }),
    writes: true,
    async run(store, { context: given, text, labels: wanted }) {
      const isNew = given.startsWith('@') && given.length > 1;
      const defaults = { kind: 'note', ...(wanted !== undefined && { labels: wanted }) };
      const { id: to } = isNew
        ? await store.contexts.getOrCreate(given.slice(1), defaults)
        : await findContext(store, given);
      const note = { role: 'assistant', text };
      const turn = await store.contexts.append(to, { type: 'note', payload: note });
      return { context: String(to), turn: String(turn.id) };
    },
  }),
];

function shorter<E extends { readonly text: string }>(entry: E): E {
  return { ...entry, text: clip(entry.text, 1000) };
}
