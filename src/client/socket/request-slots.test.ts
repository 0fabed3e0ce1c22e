import { describe, expect, it } from 'vitest';
import { RequestSlots } from './request-slots.ts';

describe('RequestSlots', () => {
  it('lets in as many as fit, the others in their order', async () => {
    const slots = new RequestSlots({ requests: 2, bytes: 100 });
    const entered: number[] = [];
    const enter = (n: number): void => {
      const waiting = slots.enter(1);
      if (waiting === undefined) entered.push(n);
      else void waiting.then(() => entered.push(n));
    };
    for (const n of [1, 2, 3, 4]) enter(n);
    expect(entered).toEqual([1, 2]);
    slots.leave(1);
    await Promise.resolve();
    expect(entered).toEqual([1, 2, 3]);
    slots.leave(1);
    slots.leave(1);
    await Promise.resolve();
    expect(entered).toEqual([1, 2, 3, 4]);
  });

  it('counts bytes, and lets one of any size in', () => {
    const slots = new RequestSlots({ requests: 9, bytes: 100 });
    expect(slots.enter(500)).toBeUndefined();
    expect(slots.enter(1)).toBeInstanceOf(Promise);
    slots.leave(500);
    expect(slots.enter(99)).toBeUndefined();
  });
});
