import type { Progress } from '../../engine/progress.ts';
import type { PeekOptions, PopOptions, Queue } from '../../queue/events/queue.ts';
import { CALLS, rowOf } from '../../wire/calls.ts';
import type { CallName, EngineMethod } from '../../wire/calls.ts';
import { checkOf } from './argument-checks.ts';
import type { ArgumentsOf } from './argument-checks.ts';
import type { CallHandler, CallTable, Caller, Served } from './call-handler.ts';
import { ANSWER_BYTES } from './check-args.ts';
import { checkBatch } from './check-batch.ts';
import { listContexts, packedPage, readLog, readPiece, salvageLog } from './long-reads.ts';
import { tellChanges } from './subscribe-call.ts';
import { tellProgress } from './tell-progress.ts';

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

/** Calls of the engine that need more than its method: they are checked further, or answered in parts. */
type ServedMethod =
  | 'commit'
  | 'readBlob'
  | 'putBlob'
  | 'listContexts'
  | 'readLog'
  | 'salvageLog'
  | 'subscribe';
/** The other calls of the engine, which the method of that name answers. */
type PlainMethod = Exclude<EngineMethod, ServedMethod>;
type OwnAnswers = {
  readonly [Name in Exclude<CallName, `engine.${PlainMethod}`>]: AnswerTo<Name>;
};
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

function ownAnswers({ engine, store }: Served): OwnAnswers {
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
  };
}

/** Bounds the size of a page, because an answer is one message. */
function bounded<T extends PopOptions | PeekOptions>(options: T): T {
  return { ...options, maxBytes: Math.min(options.maxBytes ?? ANSWER_BYTES, ANSWER_BYTES) };
}
