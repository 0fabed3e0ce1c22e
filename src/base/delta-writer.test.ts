import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { timersFireEarly } from '../../test/support/early-timers.ts';
import { DeltaWriter } from './delta-writer.ts';

interface Sent {
  readonly offset: number;
  readonly text: string;
}

function makeWriter(fail: (call: number) => boolean = () => false, gatherMs = 10) {
  const sent: Sent[] = [];
  let calls = 0;
  const writer = new DeltaWriter(
    async (offset, bytes) => {
      calls += 1;
      await sleep(2);
      if (fail(calls)) throw new Error('no room');
      sent.push({ offset, text: Buffer.from(bytes).toString() });
    },
    0,
    gatherMs,
  );
  const push = (text: string): Promise<void> => writer.push(Buffer.from(text));
  return { writer, sent, push };
}

describe('DeltaWriter', () => {
  it('sends a lone write at once', async () => {
    const { writer, sent, push } = makeWriter();
    await push('hello');
    await writer.flush();
    expect(sent).toEqual([{ offset: 0, text: 'hello' }]);
    expect(writer.acknowledged).toBe(5);
  });

  it('gathers what comes while a commit is under way, in order', async () => {
    const { writer, sent, push } = makeWriter();
    const writes = Array.from('abcdefghij', push);
    expect(writer.length).toBe(10);
    await Promise.all(writes);
    await writer.flush();
    expect(sent.length).toBeLessThanOrEqual(2);
    expect(sent.map(({ text }) => text).join('')).toBe('abcdefghij');
    expect(sent.at(-1)?.offset).toBe(10 - (sent.at(-1)?.text.length ?? 0));
  });

  it('lets a writer that awaits each piece run ahead, by a bounded amount', async () => {
    const { writer, sent, push } = makeWriter(() => false, 20);
    const began = performance.now();
    for (let n = 0; n < 1000; n += 1) await push('token ');
    await writer.flush();
    expect(sent.length).toBeLessThanOrEqual((performance.now() - began) / 20 + 2);
    expect(sent.length).toBeLessThan(50);
    let waited = 0;
    for (let n = 0; n < 64; n += 1) {
      const before = writer.acknowledged;
      await push('x'.repeat(16_384));
      expect(writer.length - writer.acknowledged).toBeLessThanOrEqual(262_144 + 16_384);
      if (writer.acknowledged > before) waited += 1;
    }
    expect(waited).toBeGreaterThan(1);
  });

  it('bounds the rate of commits', async () => {
    const { writer, sent, push } = makeWriter();
    const began = performance.now();
    while (performance.now() - began < 100) {
      void push('x');
      await sleep(1);
    }
    await writer.flush();
    expect(sent.length).toBeLessThanOrEqual((performance.now() - began) / 10 + 2);
  });

  it('keeps the window although its timers fire early', async () => {
    using _early = timersFireEarly(5);
    const began = performance.now();
    const beginnings: number[] = [];
    const sink = async (): Promise<void> => void beginnings.push(performance.now() - began);
    const writer = new DeltaWriter(sink, 0, 20);
    for (let n = 0; n < 90; n += 1) {
      void writer.push(Buffer.from('x'));
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(beginnings).toEqual([0, 20, 40, 60, 80]);
  });

  it('does not let a flush, or much text, wait for the window', async () => {
    const { writer, sent, push } = makeWriter(() => false, 3_600_000);
    await push('a');
    await writer.flush();
    void push('b');
    await writer.flush();
    expect(sent.map(({ text }) => text)).toEqual(['a', 'b']);
    await push('c'.repeat(1_048_576));
    expect(writer.acknowledged).toBe(1_048_578);
  });

  it('fails what was gathered behind a failed commit, and everything after', async () => {
    const { writer, sent, push } = makeWriter((call) => call === 2);
    await push('a');
    await writer.flush();
    const behind = [push('b'), push('c'.repeat(262_144))];
    await behind[0];
    await expect(behind[1]).rejects.toThrow('no room');
    await expect(push('d')).rejects.toThrow('no room');
    await expect(writer.flush()).rejects.toThrow('no room');
    expect(sent).toEqual([{ offset: 0, text: 'a' }]);
    expect(writer.acknowledged).toBe(1);
  });
});
