import { z } from 'zod';
import { invalid } from '../../base/errors.ts';
import {
  FIELD_CONDITIONS_MAX,
  FIELD_NAME_BYTES_MAX,
  FIELD_PREFIX_BYTES_MAX,
  toName,
  toPrefix,
} from '../../engine/context-meta.ts';
import type { Progress } from '../../engine/progress.ts';
import type { EventType, PeekOptions, PopOptions, Queue } from '../../queue/events/queue.ts';
import { CALLS, rowOf } from '../../wire/calls.ts';
import type { ArgumentKind, CallName, EngineMethod } from '../../wire/calls.ts';
import { MANY_CONTEXTS_MAX, MANY_RECORDS_MAX } from '../../wire/limits.ts';
import type { CallHandler, CallTable, Caller, Served } from './call-handler.ts';
import {
  ANSWER_BYTES,
  RECORDS_MAX,
  contextId,
  count,
  hash,
  limit,
  sha256,
  text,
  turnId,
  batch,
  checkBatch,
} from './check-args.ts';
import type { Checked } from './check-args.ts';
import {
  listContexts,
  packedPage,
  readLog,
  readPiece,
  salvageLog,
  tellChanges,
  tellProgress,
} from './long-answers.ts';

// The verbs that a client needs to be a store: how their arguments are checked, and how they are answered.

const amount = z.number().min(0);
const eraseOptions = z.strictObject({ reason: text, everywhere: z.boolean().optional() });
const need = z.strictObject({ kind: text, id: text });
/** The queue knows the types of events, and refuses others. */
const type = text as z.ZodType<EventType>;
const event = z.strictObject({ source: text, type, subtype: text.nullish(), content: text });
const page = {
  lastEventId: count,
  limit: count.optional(),
  maxBytes: z.int().min(1).optional(),
};

const fieldName = text.refine((name) => toName(name).length <= FIELD_NAME_BYTES_MAX, 'is too long');
const fieldPrefix = text.refine(
  (prefix) => toPrefix(prefix).length <= FIELD_PREFIX_BYTES_MAX,
  'is too long',
);
const fieldCondition = z.union([
  z.strictObject({ field: fieldName, is: z.union([text, z.number(), z.boolean(), z.null()]) }),
  z.strictObject({ field: fieldName, prefix: fieldPrefix }),
  z.strictObject({ field: fieldName, exists: z.boolean() }),
]);
const timeRange = z.strictObject({ since: count.optional(), until: count.optional() });

/** The check of each kind of argument. Every argument from outside is checked once, before anything is done. */
const CHECKS = {
  batch,
  blobEraseOptions: eraseOptions.extend({ letGo: z.array(need).max(100).optional() }),
  boolean: z.boolean(),
  context: contextId,
  contextQuery: z.strictObject({
    label: text.optional(),
    kind: text.optional(),
    namePrefix: text.optional(),
    fields: z.array(fieldCondition).max(FIELD_CONDITIONS_MAX).optional(),
    created: timeRange.optional(),
    updated: timeRange.optional(),
    count: z.boolean().optional(),
    limit,
    cursor: text.optional(),
  }),
  count,
  eraseOptions,
  erasures: z.array(z.strictObject({ line: count, text })),
  event,
  events: z.array(event),
  gcOptions: z.strictObject({
    dryRun: z.boolean().optional(),
    graceMs: amount.optional(),
    all: z.boolean().optional(),
  }),
  hash,
  'hash?': hash.optional(),
  hashPrefix: z.string().regex(/^[0-9a-f]{0,64}$/, 'is up to 64 lower-case hex digits'),
  limit,
  pageRead: z.strictObject({
    payload: z.union([z.boolean(), count]),
    as: z.union([z.literal(['latest', 'original']), count]),
    maxBytes: count,
  }),
  pageRequest: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('last'), context: contextId, n: limit }),
    z.strictObject({ kind: z.literal('before'), context: contextId, turn: turnId, n: limit }),
    z.strictObject({ kind: z.literal('range'), context: contextId, from: count, to: count }),
    z.strictObject({ kind: z.literal('chain'), tip: turnId, from: count, to: count }),
  ]),
  path: z.string().min(1).max(4096),
  peekOptions: z.strictObject({ ...page, filter: text.optional() }),
  popOptions: z.strictObject({ ...page, fence: count.optional() }),
  putOptions: z.strictObject({ sha256: z.boolean() }),
  retention: z.strictObject({
    maxAgeMs: amount.optional(),
    maxBytes: amount.optional(),
    label: text.optional(),
    keep: count.optional(),
  }),
  searchOptions: z.strictObject({
    order: z.enum(['best', 'newest']).optional(),
    limit: count.optional(),
    cursor: text.optional(),
    group: z.boolean().optional(),
    facets: z.boolean().optional(),
    around: count.optional(),
    waitMs: count.optional(),
    timeMs: count.optional(),
  }),
  sha256,
  subscription: z.strictObject({ consumer: text, handler: text, filter: text.nullish() }),
  text,
  'text?': text.optional(),
  turn: turnId,
  turns: z.array(turnId).max(RECORDS_MAX),
  wanted: z.strictObject({
    contexts: z.array(contextId).max(MANY_CONTEXTS_MAX),
    // Older clients do not send it.
    heads: z.array(contextId).max(MANY_RECORDS_MAX).optional(),
    turns: z.array(turnId).max(MANY_RECORDS_MAX),
    patches: z.array(count).max(MANY_RECORDS_MAX),
  }),
} satisfies Readonly<Record<ArgumentKind, z.ZodType>>;

type CheckedList<Kinds extends readonly ArgumentKind[]> = {
  -readonly [Place in keyof Kinds]: Checked<z.output<(typeof CHECKS)[Kinds[Place]]>>;
};
/** The arguments of a call once they are checked. */
type ArgumentsOf<Name extends CallName> = CheckedList<(typeof CALLS)[Name]['args']>;

/** The check of the arguments of a call. It throws INVALID that names the argument, and copies only where necessary. */
function checkOf<Name extends CallName>(
  call: Name,
): (args: readonly unknown[]) => ArgumentsOf<Name> {
  const kinds = rowOf(call).args.map((kind) => CHECKS[kind]);
  const schema = z.tuple(kinds as []) as unknown as z.ZodType<ArgumentsOf<Name>>;
  return (args) => {
    const result = schema.safeParse(args);
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    const place = issue === undefined ? '' : issue.path.map((part) => `[${String(part)}]`).join('');
    throw invalid(`${call} arguments${place}`, `are wrong: ${issue?.message ?? 'not as expected'}`);
  };
}

/** The answer to a call, by its kind. */
interface Answers<Args> {
  readonly answer: (args: Args, caller: Caller) => Promise<unknown>;
  readonly work: (args: Args, progress: Progress) => Promise<unknown>;
  readonly stream: (args: Args, caller: Caller) => AsyncIterable<unknown>;
  readonly upload: (args: Args, body: AsyncIterable<Uint8Array>) => Promise<unknown>;
}
type KindOf<Row> = Row extends { readonly kind: infer Kind extends keyof Answers<never> }
  ? Kind
  : 'answer';
type AnswerTo<Name extends CallName> = Answers<ArgumentsOf<Name>>[KindOf<(typeof CALLS)[Name]>];

/** The other calls, which the method of the engine of that name answers. */
type PlainMethod = Exclude<EngineMethod, MethodOf<keyof ReturnType<typeof ownAnswers>>>;
type MethodOf<Name> = Name extends `engine.${infer Method}` ? Method : never;
/** Work is given a function for its progress after the arguments. A row that does not fit its method does not compile. */
type PlainMethods = {
  readonly [Method in PlainMethod]: (
    ...args: [...ArgumentsOf<`engine.${Method}`>, Progress]
  ) => Promise<unknown>;
};

/** Every verb that a client needs to be a store, by the name it travels under. */
export function createCalls(served: Served): CallTable {
  const own: Readonly<Record<string, unknown>> = ownAnswers(served);
  const names = Object.keys(CALLS) as CallName[];
  return new Map(
    names.map((name) => [name, handlerOf(name, own[name] ?? plainAnswer(served.engine, name))]),
  );
}

function handlerOf(name: CallName, given: unknown): CallHandler {
  const { needs, kind = 'answer' } = rowOf(name);
  const check = checkOf(name);
  const answers = { [kind]: given } as unknown as Answers<unknown>;
  switch (kind) {
    case 'answer':
      return { kind, needs, run: async (args, caller) => answers.answer(check(args), caller) };
    case 'stream':
      return { kind, needs, run: (args, caller) => answers.stream(check(args), caller) };
    case 'upload':
      return { kind, needs, run: async (args, body) => answers.upload(check(args), body) };
    case 'work':
      return { kind: 'stream', needs, run: (args) => working(check(args), answers.work) };
  }
}

function working<Args>(args: Args, work: Answers<Args>['work']): AsyncIterable<unknown> {
  return tellProgress((progress) => work(args, progress));
}

function plainAnswer(
  engine: PlainMethods,
  name: CallName,
): (args: unknown, more: unknown) => Promise<unknown> {
  const method = name.slice('engine.'.length) as PlainMethod;
  const isWork = rowOf(name).kind === 'work';
  const call = (...args: unknown[]): Promise<unknown> =>
    (engine[method] as (...given: unknown[]) => Promise<unknown>)(...args);
  return (args, more) => call(...(args as unknown[]), ...(isWork ? [more] : []));
}

/** The calls that are no method of the engine, or need more than it: they are checked further, or answered in parts. */
function ownAnswers({ engine, store }: Served) {
  const { maintain, contexts, blobs, queues } = store;
  const open = (name: string): Promise<Queue> => queues.open(name, { create: false });
  return {
    'engine.commit': async ([batch], { identity }) =>
      engine.commit(await checkBatch(engine, batch, identity)),
    'engine.readBlob': ([hash, start, length]) => readPiece(engine, hash, start, length),
    'engine.putBlob': ([options], chunks) => engine.putBlob({ chunks, ...options }),
    'engine.listContexts': ([query]) => listContexts(engine, query),
    'engine.getPatch': async ([seq]) => (await engine.getMany({ patches: [seq] })).patches[0],
    'engine.readLog': ([name, from, most]) => readLog(engine, name, from, most),
    'engine.salvageLog': ([name, from, most]) => salvageLog(engine, name, from, most),
    'engine.subscribe': (_, { signal }) => tellChanges(engine, signal),
    'upkeep.check': ([repair], progress) => maintain.verify({ repair, progress }),
    'upkeep.eraseBlob': ([hash]) => engine.upkeep.eraseBlob(hash),
    'upkeep.eraseLines': ([log, erasures]) => engine.upkeep.eraseLines(log, erasures),
    'upkeep.backup': ([to], progress) => maintain.backup(to, progress),
    'contexts.page': ([request, read]) => packedPage(engine, request, read),
    'contexts.erase': ([turn, options]) => contexts.erase(turn, options),
    'blobs.erase': ([ref, options]) => blobs.erase(ref, options),
    'maintain.gc': ([options], progress) => maintain.gc({ ...options, progress }),
    'maintain.retain': ([policy, dryRun]) => maintain.retain(policy, { dryRun }),
    'store.search': ([query, options], progress) => store.search(query, { ...options, progress }),
    'queues.list': () => queues.list(),
    'queues.create': async ([name]) => {
      await queues.open(name);
    },
    'queues.info': async ([name]) => (await open(name)).info(),
    'queues.push': async ([name, event]) => (await open(name)).push(event),
    'queues.pushBatch': async ([name, events]) => (await open(name)).pushBatch(events),
    'queues.pop': async ([name, consumer, options]) =>
      (await open(name)).pop(consumer, bounded(options)),
    'queues.peek': async ([name, options]) => (await open(name)).peek(bounded(options)),
    'queues.subscribe': async ([name, given]) => (await open(name)).subscribe(given),
    'queues.unsubscribe': async ([name, consumer]) => (await open(name)).unsubscribe(consumer),
    'queues.dispatch': async ([name]) => (await open(name)).dispatch(),
  } satisfies { readonly [Name in CallName]?: AnswerTo<Name> };
}

/** Bounds the size of a page, because an answer is one message. */
function bounded<T extends PopOptions | PeekOptions>(options: T): T {
  return { ...options, maxBytes: Math.min(options.maxBytes ?? ANSWER_BYTES, ANSWER_BYTES) };
}
