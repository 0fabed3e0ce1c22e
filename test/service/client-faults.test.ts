import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, afterAll, describe, expect, it, onTestFinished } from 'vitest';
import type { ContextId } from '../../src/base/brand.ts';
import { isOutcomeUnknown } from '../../src/client/transport.ts';
import { dialTo } from '../../src/client/socket/dial.ts';
import { SocketTransport } from '../../src/client/socket/socket-transport.ts';
import { connectStore } from '../../src/connect-store.ts';
import type { Store } from '../../src/store/store.ts';
import { CuttingProxy } from '../support/cutting-proxy.ts';
import { undisturbed } from '../support/undisturbed.ts';
import { RestartableServer } from '../support/restartable-server.ts';
import { PATIENCE } from '../../src/testing/patience.ts';

// Invariant: however a connection is lost, an append that was acknowledged is there once, one that failed
// is there once at most, and one that failed without an unknown outcome is not there.

let server: RestartableServer;
let proxy: CuttingProxy;

beforeAll(async () => {
  server = await RestartableServer.start();
  proxy = await CuttingProxy.start(server.port);
});
afterAll(async () => {
  await proxy.close();
  await server.dispose();
});

async function connect(timeoutMs = 5000): Promise<Store> {
  const store = await connectStore(`quipu://127.0.0.1:${proxy.port}`, { timeoutMs });
  onTestFinished(() => store.close());
  return store;
}

async function payloads(id: ContextId): Promise<unknown[]> {
  return (await server.store.contexts.last(id, 1000)).turns.map((turn) => turn.payload);
}

async function countContexts(): Promise<number> {
  return (await server.store.contexts.list({ limit: 1000 })).items.length;
}

const note = (payload: unknown) => ({ type: 'note', payload });

describe('a connection cut while an append is on its way', () => {
  /** What one append on a fresh connection takes, the greeting included. */
  async function measure(): Promise<{
    request: number;
    reply: number;
    greeting: typeof proxy.passed;
  }> {
    const store = await connect();
    const { id } = await server.store.contexts.create();
    const greeting = { ...proxy.passed };
    await store.contexts.append(id, note('x'.repeat(50)));
    return { ...proxy.passed, greeting };
  }

  it('never doubles it and never loses it, wherever the cut is', async () => {
    const { request, reply, greeting } = await measure();
    const cuts = [
      ...range(greeting.request + 1, request, 5).map((n) => ({
        requestBytes: n,
        replyBytes: Infinity,
      })),
      { requestBytes: request, replyBytes: Infinity },
      ...range(greeting.reply + 1, reply, 5).map((n) => ({
        requestBytes: Infinity,
        replyBytes: n,
      })),
      { requestBytes: Infinity, replyBytes: reply },
    ];
    const { id } = await server.store.contexts.create();
    const sent: string[] = [];
    for (const [n, cut] of cuts.entries()) {
      proxy.cuts.push(cut);
      const store = await connect();
      const payload = `${n}`.padEnd(50, 'x');
      await store.contexts.append(id, note(payload));
      sent.push(payload);
    }
    expect(cuts.length).toBeGreaterThan(50);
    expect(await payloads(id)).toEqual(sent);
  });

  // The client is to know of the cut before it asks.
  it(
    'says that the outcome is unknown where another attempt could double it',
    undisturbed(10, async () => {
      const store = await connect();
      const before = await countContexts();
      // The request arrives, and its reply does not: only the greeting comes back.
      proxy.cuts.splice(0, Infinity, {
        requestBytes: Infinity,
        replyBytes: proxy.passed.reply + 1,
      });
      proxy.cutAll();
      await sleep(20);
      const failed = await store.contexts
        .create({ title: 'once' })
        .catch((error: unknown) => error);
      expect(failed).toMatchObject({ code: 'UNAVAILABLE', data: { outcome: 'unknown' } });
      expect(isOutcomeUnknown(failed)).toBe(true);
      expect(proxy.cuts).toEqual([]);
      expect(await countContexts()).toBe(before + 1);
    }),
  );

  it(
    'makes a context once that has a key, and knows that it did',
    undisturbed(10, async () => {
      const store = await connect();
      const before = await countContexts();
      proxy.cuts.splice(0, Infinity, {
        requestBytes: Infinity,
        replyBytes: proxy.passed.reply + 1,
      });
      proxy.cutAll();
      await sleep(20);
      const idempotencyKey = `once ${before}`;
      const { id } = await store.contexts.create({ title: 'once', idempotencyKey });
      expect(proxy.cuts).toEqual([]);
      expect(await countContexts()).toBe(before + 1);
      expect(await server.store.contexts.get(id)).toMatchObject({ title: 'once' });
    }),
  );

  it('keeps hundreds that are on their way apart', async () => {
    const store = await connect(15_000);
    const { id } = await server.store.contexts.create();
    const numbers = range(1, 300, 1);
    const appends = Promise.all(numbers.map((n) => store.contexts.append(id, note(n))));
    for (let round = 0; round < 4; round += 1) {
      await sleep(10 * round);
      proxy.cutAll();
    }
    await appends;
    const found = (await payloads(id)) as number[];
    expect(found.toSorted((a, b) => a - b)).toEqual(numbers);
  });
});

describe('a server that does not answer', () => {
  it(
    'costs a request its time and no more',
    undisturbed(50, async () => {
      const store = await connect(150);
      const { id } = await server.store.contexts.create();
      proxy.frozen = true;
      try {
        const append = store.contexts.append(id, note('late'));
        await expect(append).rejects.toMatchObject({
          code: 'TIMEOUT',
          data: { afterMs: expect.any(Number) as number, outcome: 'unknown' },
        });
      } finally {
        proxy.frozen = false;
      }
    }),
  );

  it('lets go of a call that is aborted', async () => {
    const dial = dialTo({ kind: 'tcp', host: '127.0.0.1', port: proxy.port });
    const transport = new SocketTransport({ dial, timeoutMs: 5000 });
    onTestFinished(() => transport.close());
    await transport.connect();
    proxy.frozen = true;
    try {
      const controller = new AbortController();
      const call = transport.call('engine.tips', [], { signal: controller.signal });
      controller.abort();
      await expect(call).rejects.toMatchObject({ name: 'AbortError' });
    } finally {
      proxy.frozen = false;
    }
    proxy.cutAll();
    await expect.poll(() => transport.isConnected, PATIENCE).toBe(false);
    expect(await transport.call('engine.tips', [])).toMatchObject({ patch: 0 });
  });
});

describe('a server that goes away and comes back', () => {
  async function restart(): Promise<void> {
    await server.stop();
    await sleep(30);
    await server.start();
    proxy.targetPort = server.port;
  }

  it('is followed on without a gap and without a repetition', async () => {
    const reader = await connect();
    const writer = await connect();
    const { id } = await writer.contexts.create();
    const seen: unknown[] = [];
    const controller = new AbortController();
    const reading = (async () => {
      for await (const turn of reader.contexts.follow(id, { signal: controller.signal })) {
        seen.push(turn.payload);
        if (seen.length === 120) controller.abort();
      }
    })();
    const numbers = range(0, 119, 1);
    const writing = (async () => {
      for (const n of numbers) await writer.contexts.append(id, note(n));
    })();
    for (let round = 0; round < 3; round += 1) {
      await sleep(40);
      await restart();
    }
    await writing;
    await reading;
    expect(seen).toEqual(numbers);
    expect(await payloads(id)).toEqual(numbers);
  });

  it('tells a reader that waits of what came while it was away', async () => {
    const reader = await connect();
    const { id } = await reader.contexts.create();
    const turns = reader.contexts.follow(id)[Symbol.asyncIterator]();
    await server.store.contexts.append(id, note('before'));
    expect((await turns.next()).value).toMatchObject({ payload: 'before' });
    const next = turns.next();
    await server.stop();
    await server.start();
    // The proxy still leads to where nobody is, so this is missed by whoever listens.
    await server.store.contexts.append(id, note('meanwhile'));
    proxy.targetPort = server.port;
    expect((await next).value).toMatchObject({ payload: 'meanwhile' });
  });
});

function range(from: number, to: number, step: number): number[] {
  const numbers: number[] = [];
  for (let n = from; n <= to; n += step) numbers.push(n);
  return numbers;
}
