import { describe, expect, it } from 'vitest';
import { PageBytes } from '../turn.ts';

const shared = Array.from({ length: 100 }, (_, n) => new Uint8Array(10_000).fill(n));

describe('bytes of a page', () => {
  it('hands out what nobody else has, unless a payload would keep much more in memory', () => {
    const own = shared.slice(0, 50);
    expect(new PageBytes(own, { unshared: true }).own(3)).toBe(own[3]);
    const large = [...own, new Uint8Array(1024 * 1024)];
    const copy = new PageBytes(large, { unshared: true }).own(3);
    expect(copy).toEqual(own[3]);
    expect(copy).not.toBe(own[3]);
  });

  it('gives a copy each time, and leaves the shared bytes alone', () => {
    const page = new PageBytes(shared);
    const own = page.own(3);
    expect(own).toEqual(shared[3]);
    own?.fill(255);
    expect(page.own(3)).toEqual(shared[3]);
    expect(shared[3]?.[0]).toBe(3);
    expect(page.own(4)).toEqual(shared[4]);
    expect(page.own(2)).toEqual(shared[2]);
    expect(page.own(99)).toEqual(shared[99]);
  });

  it('copies neighbours together, and no more than a group of them', () => {
    const page = new PageBytes(shared);
    const buffers = new Set(shared.map((_, index) => page.own(index)?.buffer));
    expect(buffers.size).toBe(Math.ceil(100 / 26));
  });

  it('knows payloads without a byte, and pages without a payload', () => {
    expect(new PageBytes([new Uint8Array(), Uint8Array.of(1)]).own(0)).toEqual(new Uint8Array());
    expect(new PageBytes([]).own(0)).toBeUndefined();
  });
});
