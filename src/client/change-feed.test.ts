import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { QuipuError } from '../base/errors.ts';
import type { Change } from '../engine/batch.ts';
import { ChangeFeed } from './change-feed.ts';
import { unavailable } from './transport.ts';
import type { Transport } from './transport.ts';
import { PATIENCE } from '../testing/patience.ts';

const change = (seq: number): Change => ({ seq }) as Change;

/** Streams that the test feeds: each is a list of items or an error to end with. */
class FakeStreams {
  readonly begun: { send(item: unknown): void; fail(error: Error): void; ended: boolean }[] = [];

  readonly transport = {
    stream: (_method: string, _args: readonly unknown[], options: { signal: AbortSignal }) =>
      this.#stream(options.signal),
  } as unknown as Transport;

  async *#stream(signal: AbortSignal): AsyncGenerator<unknown> {
    const waiting: unknown[] = [];
    let failure: Error | undefined;
    const stream = {
      send: (item: unknown): void => void waiting.push(item),
      fail: (error: Error): void => void (failure = error),
      ended: false,
    };
    this.begun.push(stream);
    try {
      while (!signal.aborted) {
        if (waiting.length > 0) yield waiting.shift();
        else if (failure !== undefined) throw failure;
        else await sleep(1);
      }
    } finally {
      stream.ended = true;
    }
  }
}

function start(): { streams: FakeStreams; feed: ChangeFeed } {
  const streams = new FakeStreams();
  const feed = new ChangeFeed(streams.transport);
  onTestFinished(() => feed.close());
  return { streams, feed };
}

function hear(feed: ChangeFeed): { heard: (number | 'missed')[]; end: () => void } {
  const heard: (number | 'missed')[] = [];
  const end = feed.add(
    ({ seq }) => heard.push(seq),
    () => heard.push('missed'),
  );
  return { heard, end };
}

describe('ChangeFeed', () => {
  it('makes requests wait until it is live', async () => {
    const { streams, feed } = start();
    expect(feed.ready).toBeUndefined();
    const { heard } = hear(feed);
    const { ready } = feed;
    let isReady = false;
    void ready?.then(() => (isReady = true));
    await vi.waitFor(() => expect(streams.begun).toHaveLength(1), PATIENCE);
    expect(isReady).toBe(false);
    streams.begun[0]!.send({ live: true });
    await ready;
    expect(feed.ready).toBeUndefined();
    streams.begun[0]!.send({ changes: [change(1), change(2)] });
    await vi.waitFor(() => expect(heard).toEqual([1, 2]), PATIENCE);
  });

  it('says that changes were missed once it is live again, and before any new one', async () => {
    const { streams, feed } = start();
    const { heard } = hear(feed);
    await vi.waitFor(() => expect(streams.begun).toHaveLength(1), PATIENCE);
    streams.begun[0]!.send({ live: true });
    streams.begun[0]!.send({ changes: [change(5)] });
    streams.begun[0]!.fail(unavailable('gone'));
    await vi.waitFor(() => expect(streams.begun).toHaveLength(2), PATIENCE);
    streams.begun[1]!.fail(unavailable('still gone'));
    await vi.waitFor(() => expect(streams.begun).toHaveLength(3), PATIENCE);
    expect(heard).toEqual([5]);
    streams.begun[2]!.send({ live: true });
    streams.begun[2]!.send({ changes: [change(3)] });
    await vi.waitFor(() => expect(heard).toEqual([5, 'missed', 3]), PATIENCE);
  });

  it('tells a listener nothing from before it listened', async () => {
    const { streams, feed } = start();
    const first = hear(feed);
    await vi.waitFor(() => expect(streams.begun).toHaveLength(1), PATIENCE);
    streams.begun[0]!.send({ live: true });
    await feed.ready;
    feed.saw(7);
    const second = hear(feed);
    streams.begun[0]!.send({ changes: [change(7), change(8)] });
    await vi.waitFor(() => expect(second.heard).toEqual([8]), PATIENCE);
    expect(first.heard).toEqual([7, 8]);
  });

  it('has no stream while nobody listens', async () => {
    const { streams, feed } = start();
    const first = hear(feed);
    await vi.waitFor(() => expect(streams.begun).toHaveLength(1), PATIENCE);
    first.end();
    first.end();
    await vi.waitFor(() => expect(streams.begun[0]?.ended).toBe(true), PATIENCE);
    expect(feed.ready).toBeUndefined();
    hear(feed);
    await vi.waitFor(() => expect(streams.begun).toHaveLength(2), PATIENCE);
  });

  it('does not insist when it may not listen, and holds up no request', async () => {
    const { streams, feed } = start();
    hear(feed);
    const { ready } = feed;
    await vi.waitFor(() => expect(streams.begun).toHaveLength(1), PATIENCE);
    streams.begun[0]!.fail(new QuipuError('FORBIDDEN', 'no', { scope: 'read' }));
    await ready;
    await sleep(30);
    expect(streams.begun).toHaveLength(1);
    expect(feed.ready).toBeUndefined();
  });

  it('lets listeners look for themselves when something else is wrong, and tries on', async () => {
    const { streams, feed } = start();
    const { heard } = hear(feed);
    await vi.waitFor(() => expect(streams.begun).toHaveLength(1), PATIENCE);
    streams.begun[0]!.fail(new QuipuError('CORRUPT', 'damaged', { file: 'x', offset: 0 }));
    await vi.waitFor(() => expect(streams.begun).toHaveLength(2), PATIENCE);
    expect(heard).toEqual(['missed']);
    streams.begun[1]!.send({ live: true });
    streams.begun[1]!.send({ changes: [change(1)] });
    await vi.waitFor(() => expect(heard.at(-1)).toBe(1), PATIENCE);
  });
});
