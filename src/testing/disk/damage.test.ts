import { describe, expect, it } from 'vitest';
import { cutFiles, flipBytes, restoreStaleChunks } from './damage.ts';
import { MemoryIo } from './memory-io.ts';

const OLD = MemoryIo.from(
  new Map([
    ['a', new Uint8Array(100).fill(1)],
    ['b', new Uint8Array(3)],
  ]),
);
const NEW = MemoryIo.from(
  new Map([
    ['a', new Uint8Array(150).fill(1).fill(2, 64)],
    ['c', new Uint8Array(2)],
  ]),
);

describe('damage', () => {
  it('flips every byte once and leaves the others alone', () => {
    const damages = [...flipBytes(NEW, { seed: 1 })];
    expect(damages).toHaveLength(152);
    for (const { path, offset, disk } of damages) {
      const before = NEW.contentOf(path)!.toBytes();
      const after = disk.contentOf(path)!.toBytes();
      expect([...after.keys()].filter((at) => after[at] !== before[at])).toEqual([offset]);
    }
  });

  it('cuts to every shorter length', () => {
    const lengths = [...cutFiles(NEW, { seed: 1, only: (path) => path === 'a' })].map(
      ({ disk }) => disk.contentOf('a')?.length,
    );
    expect(lengths).toEqual(Array.from({ length: 150 }, (_, length) => length));
  });

  it('draws from the whole file when there is too much', () => {
    const offsets = [...flipBytes(NEW, { seed: 3, perFile: 10, only: (path) => path === 'a' })].map(
      ({ offset }) => offset,
    );
    expect(offsets).toHaveLength(10);
    expect(new Set(offsets.map((offset) => Math.floor(offset / 15))).size).toBe(10);
  });

  it('puts old chunks back where they differ', () => {
    const damages = [...restoreStaleChunks(NEW, OLD, { seed: 1, chunkBytes: 64 })];
    expect(damages.map(({ what }) => what)).toEqual(['a: 36 stale bytes at 64']);
    const bytes = damages[0]!.disk.contentOf('a')!.toBytes();
    expect([...bytes]).toEqual([...new Uint8Array(150).fill(1, 0, 100).fill(2, 100)]);
  });
});
