import { describe, expect, it } from 'vitest';
import { PushedItems } from './pending-calls.ts';

describe('PushedItems', () => {
  it('gives items in order, also to one who waits, and then the end', async () => {
    const items = new PushedItems();
    items.push('a', 1);
    const first = items.next();
    const second = items.next();
    items.push('b', 1);
    expect(await first).toEqual({ done: false, value: 'a' });
    expect(await second).toEqual({ done: false, value: 'b' });
    items.push('c', 1);
    items.end();
    expect(await items.next()).toEqual({ done: false, value: 'c' });
    expect(await items.next()).toEqual({ done: true });
  });

  it('throws at a bad end, after what came before', async () => {
    const items = new PushedItems();
    items.push('a', 1);
    items.end(new Error('bad'));
    items.end();
    expect(await items.next()).toMatchObject({ value: 'a' });
    await expect(items.next()).rejects.toThrow('bad');
  });

  it('cuts a reader off that is too slow, but takes one item of any size', async () => {
    const items = new PushedItems();
    expect(items.push('large', 1 << 30)).toBe(true);
    expect(items.push('more', 1)).toBe(false);
    await expect(items.next()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const many = new PushedItems();
    let pushed = 0;
    while (many.push(pushed, 0)) pushed += 1;
    expect(pushed).toBe(10_000);
  });
});
