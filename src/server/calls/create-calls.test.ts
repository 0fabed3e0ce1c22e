import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContextId, TurnId } from '../../base/brand.ts';
import { isQuipuError } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import { createStore } from '../../store/create-store.ts';
import { RAW_BYTES_MAX } from '../../wire/limits.ts';
import { ModelEngine } from '../../testing/model-engine.ts';
import type { CallHandler, CallTable, Caller } from './call-handler.ts';
import { createCalls } from './create-calls.ts';

const CALLER: Caller = {
  identity: { name: 'test', scope: 'admin' },
  signal: new AbortController().signal,
};

async function start(): Promise<{ engine: ModelEngine; calls: CallTable }> {
  const engine = new ModelEngine();
  const store = createStore(engine);
  const { id } = await store.contexts.create();
  await store.contexts.append(id, { type: 't', payload: 'a' });
  return { engine, calls: createCalls({ engine, store }) };
}

async function run(handler: CallHandler, args: readonly unknown[]): Promise<unknown> {
  if (handler.kind === 'answer') return handler.run(args, CALLER);
  if (handler.kind === 'upload') return handler.run(args, none(), CALLER);
  for await (const item of handler.run(args, CALLER)) return item;
  return undefined;
}

async function* none(): AsyncGenerator<Uint8Array> {}

const bytes = new TextEncoder().encode('b');
const blob = { hash: hashBytes(bytes), bytes };
const open = { context: 1n as ContextId, type: 't', version: 1, encoding: 0 };
const turn = { ...open, payload: blob.hash, size: 1 };

describe('calls from outside', () => {
  it('answer or refuse whatever the arguments are, and change nothing by it', async () => {
    const { engine, calls } = await start();
    const before = JSON.stringify(await engine.stats());
    const anything = fc.anything({ withBigInt: true, withTypedArray: true, maxDepth: 3 });
    const method = fc.constantFrom(
      ...[...calls.keys()].filter((name) => name.startsWith('engine.')),
    );
    await fc.assert(
      fc.asyncProperty(
        method,
        fc.array(anything, { minLength: 1, maxLength: 4 }),
        async (name, args) => {
          try {
            await run(calls.get(name)!, args);
          } catch (error) {
            if (!isQuipuError(error)) throw error;
          }
        },
      ),
      { numRuns: 2000 },
    );
    expect(JSON.stringify(await engine.stats())).toBe(before);
  });

  it.each<[string, unknown]>([
    ['a hash that is not of its bytes', { blobs: [{ ...blob, hash: 'a'.repeat(64) }] }],
    ['a SHA-256 that is not', { blobs: [{ ...blob, sha256: 'a'.repeat(64) }] }],
    ['a size that is not', { blobs: [blob], turns: [{ ...turn, size: 2 }] }],
    ['a type that has no UTF-8 form', { blobs: [blob], turns: [{ ...turn, type: '\ud800' }] }],
    ['a type that is too long', { blobs: [blob], turns: [{ ...turn, type: 'x'.repeat(1025) }] }],
    ['an id beyond numbers', { blobs: [blob], turns: [{ ...turn, context: 2n ** 64n }] }],
    ['an id that is no bigint', { blobs: [blob], turns: [{ ...turn, context: 1 }] }],
    ['a field that is not known', { blobs: [blob], turns: [{ ...turn, flags: 4 }] }],
    ['a part that is not known', { everything: [] }],
    ['a seal that has a size alone', { seals: [{ turn: 1n, outcome: 'aborted', size: 1 }] }],
    ['an empty key', { blobs: [blob], turns: [turn], idempotency: { context: 1n, key: '' } }],
    ['a name that leaves the folder', { docs: [{ name: '../x', content: '1' }] }],
    ['a name of the store itself', { logs: [{ do: 'append', name: 'blobs/x', lines: ['1'] }] }],
    ['a line break in a line', { logs: [{ do: 'append', name: 'l', lines: ['1\n2'] }] }],
    ['what is not JSON', { docs: [{ name: 'd', content: '{' }] }],
    ['details that are not known', { contexts: [{ do: 'create', meta: { colour: 'red' } }] }],
    [
      'a label that is too long',
      { contexts: [{ do: 'create', meta: { labels: ['x'.repeat(129)] } }] },
    ],
  ])('refuse a batch with %s', async (_, batch) => {
    const { engine, calls } = await start();
    const before = JSON.stringify(await engine.stats());
    await expect(run(calls.get('engine.commit')!, [batch])).rejects.toMatchObject({
      code: 'INVALID',
    });
    expect(JSON.stringify(await engine.stats())).toBe(before);
  });

  it('let no open turn grow beyond a payload', async () => {
    const { engine, calls } = await start();
    const commit = (deltas: unknown): Promise<unknown> =>
      run(calls.get('engine.commit')!, [{ deltas }]);
    const { opened } = await engine.commit({ opens: [open] });
    const delta = { turn: opened[0]!.id, offset: 0, bytes };
    const tooMuch = { ...delta, offset: RAW_BYTES_MAX };
    await expect(commit([delta, tooMuch])).rejects.toMatchObject({ code: 'TOO_LARGE' });
    expect((await engine.getOpenTurn(delta.turn))?.bytes.length).toBe(0);
    await commit([delta]);
    expect((await engine.getOpenTurn(delta.turn))?.bytes.length).toBe(1);
  });

  it('need the scope that fits what they do', async () => {
    const { calls } = await start();
    const needs = (scope: string): string[] =>
      [...calls].filter(([, handler]) => handler.needs === scope).map(([name]) => name);
    expect(needs('write')).toEqual([
      'engine.commit',
      'engine.putBlob',
      'queues.create',
      'queues.push',
      'queues.pushBatch',
      'queues.pop',
      'queues.dispatch',
    ]);
    expect(needs('admin').toSorted()).toEqual([
      'blobs.erase',
      'contexts.erase',
      'engine.checkpoint',
      'engine.reindex',
      'maintain.gc',
      'maintain.retain',
      'queues.unsubscribe',
      'upkeep.backup',
      'upkeep.check',
      'upkeep.eraseBlob',
      'upkeep.eraseLines',
    ]);
    expect(needs('handlers')).toEqual(['queues.subscribe']);
  });

  it('give a long log in answers that are not too long', async () => {
    const { engine, calls } = await start();
    const line = JSON.stringify('x'.repeat(100_000));
    const lines = Array.from({ length: 300 }, () => line);
    await engine.commit({ logs: [{ do: 'append', name: 'logs/l', lines }] });
    const read = (from: number) => run(calls.get('engine.readLog')!, ['logs/l', from, 10_000]);
    const first = (await read(0)) as { lines: string[]; more: boolean };
    expect(first.more).toBe(true);
    expect(first.lines.length).toBeLessThan(300);
    expect(await read(250)).toMatchObject({ more: false, lines: { length: 50 } });
  });

  it('tell of the work they do, and of its result last', async () => {
    const { calls } = await start();
    const handler = calls.get('maintain.gc');
    if (handler?.kind !== 'stream') throw new TypeError('expected a stream');
    const items: unknown[] = [];
    for await (const item of handler.run([{ graceMs: 0 }], CALLER)) items.push(item);
    expect(items.at(-1)).toMatchObject({ result: { liveBlobs: 1, dryRun: false } });
    for (const item of items.slice(0, -1)) expect(item).toHaveProperty('progress');
    await expect(run(calls.get('upkeep.eraseBlob')!, ['x'])).rejects.toMatchObject({
      code: 'INVALID',
    });
  });

  it('end a subscription when changes went by unheard, so that the client looks for itself', async () => {
    const { engine, calls } = await start();
    let miss: () => void = () => undefined;
    engine.subscribe = (_listener, missed = () => undefined) => {
      miss = missed;
      return () => undefined;
    };
    const handler = calls.get('engine.subscribe');
    if (handler?.kind !== 'stream') throw new TypeError('expected a stream');
    const items = handler.run([], CALLER)[Symbol.asyncIterator]();
    await items.next();
    const next = items.next();
    miss();
    await expect(next).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('begin a subscription by saying that it is live', async () => {
    const { engine, calls } = await start();
    const handler = calls.get('engine.subscribe');
    if (handler?.kind !== 'stream') throw new TypeError('expected a stream');
    const controller = new AbortController();
    const items = handler.run([], { ...CALLER, signal: controller.signal })[Symbol.asyncIterator]();
    expect(await items.next()).toMatchObject({ value: { live: true } });
    await engine.commit({ blobs: [blob], turns: [turn] });
    expect(await items.next()).toMatchObject({
      value: { changes: [{ turns: [{ id: 2n as TurnId }] }] },
    });
    const last = items.next();
    controller.abort();
    expect(await last).toMatchObject({ done: true });
  });
});
