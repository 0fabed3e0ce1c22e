import { describe, expect, it } from 'vitest';
import { hashBytes, sha256Hex } from '../../base/hash.ts';
import { failure, present } from '../engine-suite/fixture.ts';
import type { ContextsTarget } from './contexts-target.ts';
import { collect, openStore, settle } from './fixture.ts';

export function blobsSuite(target: ContextsTarget): void {
  describe('blobs', () => {
    it('puts bytes once and finds them by every reference', async () => {
      const { blobs } = await openStore(target);
      const bytes = Buffer.from('some bytes');
      const [hash, sha256] = [hashBytes(bytes), sha256Hex(bytes)];
      const put = await blobs.put(bytes, { sha256: true });
      expect(put).toMatchObject({ hash, sha256, size: 10, existed: false });
      expect(put.storedSize).toBeGreaterThan(0);
      expect(await blobs.put(bytes)).toMatchObject({ hash, existed: true });
      for (const ref of [hash, `b3:${hash}`, `blob:sha256:${sha256}`]) {
        expect(await blobs.get(ref)).toEqual(new Uint8Array(bytes));
        expect(await blobs.has(ref)).toBe(true);
        expect(await blobs.stat(ref)).toMatchObject({ hash, size: 10, storedSize: put.storedSize });
      }
    });

    it('keeps the bytes it was given, not the array', async () => {
      const { blobs } = await openStore(target);
      const bytes = Buffer.from('before');
      const putting = blobs.put(bytes);
      bytes.fill(0);
      expect(Buffer.from(present(await blobs.get((await putting).hash))).toString()).toBe('before');
    });

    it('misses politely and refuses what is no reference', async () => {
      const { blobs } = await openStore(target);
      const hex = '0'.repeat(64);
      for (const ref of [hex, `b3:${hex}`, `blob:sha256:${hex}`]) {
        expect(await blobs.get(ref)).toBeUndefined();
        expect(await blobs.has(ref)).toBe(false);
        expect(await blobs.stat(ref)).toBeUndefined();
        await failure(collect(blobs.stream(ref)), 'NOT_FOUND');
      }
      await failure(blobs.get('nonsense'), 'INVALID');
      await failure(
        settle(() => blobs.stream('nonsense')),
        'INVALID',
      );
    });

    it('lists hashes page by page, and by their beginning', async () => {
      const { blobs } = await openStore(target);
      expect(await blobs.list()).toEqual({ items: [] });
      const texts = Array.from({ length: 12 }, (_, nth) => Buffer.from(`one of many ${nth}`));
      const hashes = texts.map((text) => hashBytes(text)).toSorted();
      for (const text of texts) await blobs.put(text);
      const first = await blobs.list({ limit: 8 });
      expect(first).toEqual({ items: hashes.slice(0, 8), cursor: hashes[7] });
      const rest = await blobs.list({ limit: 8, ...(first.cursor && { cursor: first.cursor }) });
      expect(rest).toEqual({ items: hashes.slice(8) });
      const [hash = ''] = hashes;
      expect(await blobs.list({ prefix: hash.slice(0, 12) })).toEqual({ items: [hash] });
      for (const bad of [{ prefix: 'ABC' }, { limit: 0 }, { limit: 10_001 }, { cursor: 'x' }]) {
        await failure(blobs.list(bad), 'INVALID');
      }
    });

    it('puts nothing', async () => {
      const { blobs } = await openStore(target);
      const { hash } = await blobs.put(new Uint8Array());
      expect(await blobs.get(hash)).toEqual(new Uint8Array());
      expect(await collect(blobs.stream(hash))).toEqual([]);
    });

    it('puts a stream and streams it back, whole and in part', async () => {
      const { blobs } = await openStore(target);
      const bytes = noise(1_500_000);
      const put = await blobs.put(inPieces(bytes, 70_001), { sha256: true });
      expect(put).toMatchObject({
        hash: hashBytes(bytes),
        sha256: sha256Hex(bytes),
        size: bytes.length,
      });
      expect(put.existed).toBe(false);
      expect(await blobs.put(bytes)).toMatchObject({ hash: put.hash, existed: true });
      for (const [start, end] of [
        [0, 1_500_000],
        [7, 100],
        [299_999, 900_001],
        [1_499_999, 9_999_999],
      ] as const) {
        const pieces = await collect(blobs.stream(put.hash, { start, end }));
        expect(Buffer.compare(Buffer.concat(pieces), bytes.subarray(start, end))).toBe(0);
      }
      const whole = Buffer.concat(
        await collect(blobs.stream(`blob:sha256:${present(put.sha256)}`)),
      );
      expect(Buffer.compare(whole, bytes)).toBe(0);
      const reader = blobs.stream(put.hash).getReader();
      await reader.read();
      await reader.cancel();
    });

    it('stores nothing of a stream that fails', async () => {
      const store = await openStore(target);
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield noise(10);
        throw new RangeError('the source broke');
      }
      await expect(store.blobs.put(broken())).rejects.toThrow('the source broke');
      expect((await store.maintain.stats()).blobs).toBe(0);
      async function* wrong(): AsyncGenerator<Uint8Array> {
        yield 'text' as unknown as Uint8Array;
      }
      await failure(store.blobs.put(wrong()), 'INVALID');
    });

    it('refuses ranges that make no sense', async () => {
      const { blobs } = await openStore(target);
      const { hash } = await blobs.put(noise(10));
      for (const range of [{ start: -1 }, { start: 5, end: 4 }, { end: 1.5 }]) {
        await failure(
          settle(() => blobs.stream(hash, range)),
          'INVALID',
        );
      }
    });
  });
}

/** Bytes that do not compress and do not repeat. */
function noise(length: number): Uint8Array {
  let state = 12_345;
  return Uint8Array.from({ length }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state >> 16;
  });
}

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
