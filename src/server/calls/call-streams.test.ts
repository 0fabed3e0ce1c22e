import { describe, expect, it } from 'vitest';
import type { Change } from '../../engine/batch.ts';
import { ChangeQueue } from './long-answers.ts';

const none = { contexts: [], turns: [], opened: [], sealed: [], patches: [], logs: [], docs: [] };
const change = (size: number): Change =>
  ({ ...none, heads: [], deltas: [{ bytes: new Uint8Array(size) }] }) as unknown as Change;

describe('ChangeQueue', () => {
  it('gives what came since the last look', () => {
    const queue = new ChangeQueue(10_000);
    const [one, two] = [change(1), change(2)];
    queue.add(one);
    queue.add(two);
    expect(queue.take()).toEqual([one, two]);
    expect(queue.take()).toEqual([]);
  });

  it('takes one of any size, and then has an end', () => {
    const queue = new ChangeQueue(10_000);
    queue.add(change(1_000_000));
    expect(queue.take()).toHaveLength(1);
    for (let n = 0; n < 20; n += 1) queue.add(change(1000));
    expect(() => queue.take()).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
    queue.add(change(1));
    expect(() => queue.take()).toThrow('faster than they were read');
  });
});
