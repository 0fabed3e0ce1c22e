import fc from 'fast-check';
import { describe, expect } from 'vitest';

import { hashBytes, sha256Hex } from '../../base/hash.ts';
import type { Hash } from '../../base/brand.ts';
import type { Engine } from '../../engine/engine.ts';
import type { EngineTarget } from './engine-target.ts';
import { blobOf, failure, present, readBytes, engineCases } from './fixture.ts';

const MIB = 1024 * 1024;

export function blobSuite(target: EngineTarget): void {
  const it = engineCases(target);
  describe('blobs', () => {
    it('gives back what was put, and knows what was not', async ({ engine }) => {
      const [here, missing] = [blobOf('here'), blobOf('missing')];
      await engine.commit({ blobs: [here] });
      expect(await readBytes(engine, here.hash)).toEqual(here.bytes);
      expect(await engine.hasBlob(here.hash)).toBe(true);
      expect(await engine.statBlob(here.hash)).toMatchObject({ hash: here.hash, size: 4 });
      expect(await readBytes(engine, missing.hash)).toBeUndefined();
      expect(await engine.hasBlob(missing.hash)).toBe(false);
      expect(await engine.statBlob(missing.hash)).toBeUndefined();
    });

    it('stores the same bytes once', async ({ engine }) => {
      await engine.commit({ blobs: [blobOf('twice'), blobOf('twice')] });
      const before = await engine.stats();
      await engine.commit({ blobs: [blobOf('twice')] });
      const after = await engine.stats();
      expect(after).toMatchObject({ blobs: 1, blobBytes: 5, storedBytes: before.storedBytes });
    });

    it('keeps the empty blob', async ({ engine }) => {
      const empty = blobOf('');
      await engine.commit({ blobs: [empty] });
      expect(await readBytes(engine, empty.hash)).toEqual(new Uint8Array());
      expect(await collect(engine, empty.hash)).toEqual(new Uint8Array());
      expect(await engine.statBlob(empty.hash)).toMatchObject({ size: 0 });
    });

    it('keeps bytes that compress well, badly, and not at all', async ({ engine }) => {
      const blobs = [
        new Uint8Array(100_000),
        randomBytes(100_000, 1),
        blobOf('{"a":1}'.repeat(5000)).bytes,
      ].map(blobOf);
      await engine.commit({ blobs });
      for (const blob of blobs) {
        expect(hashBytes(present(await engine.getBlob(blob.hash)))).toBe(blob.hash);
        const stat = present(await engine.statBlob(blob.hash));
        expect(stat.size).toBe(blob.bytes.length);
        expect(stat.storedSize).toBeGreaterThan(0);
        expect(stat.chunks).toBeGreaterThanOrEqual(0);
      }
    });

    it("hands out arrays that are the caller's own", async ({ engine }) => {
      const given = blobOf('mine');
      await engine.commit({ blobs: [given] });
      const { hash } = given;
      given.bytes.fill(0);
      present(await engine.getBlob(hash)).fill(1);
      for await (const piece of engine.readBlob(hash)) piece.fill(2);
      expect(await readBytes(engine, hash)).toEqual(new TextEncoder().encode('mine'));
      expect(await collect(engine, hash)).toEqual(new TextEncoder().encode('mine'));
    });

    it('reads any range', async ({ engine }) => {
      const small = blobOf(randomBytes(1000, 2));
      const large = blobOf(randomBytes(700_000, 3));
      await engine.commit({ blobs: [small, large] });
      for (const { hash, bytes } of [small, large]) {
        const offset = fc.nat(bytes.length);
        await fc.assert(
          fc.asyncProperty(offset, offset, async (a, b) => {
            const [start, end] = a < b ? [a, b] : [b, a];
            expect(hashBytes(await collect(engine, hash, start, end))).toBe(
              hashBytes(bytes.subarray(start, end)),
            );
          }),
          {
            numRuns: 20,
            examples: [
              [0, 0],
              [0, bytes.length],
              [bytes.length, bytes.length],
            ],
          },
        );
        expect(hashBytes(await collect(engine, hash, 500))).toBe(hashBytes(bytes.subarray(500)));
      }
    });

    it('says NOT_FOUND when a missing blob is read in pieces', async ({ engine }) => {
      const { hash } = blobOf('missing');
      const error = await failure(collect(engine, hash), 'NOT_FOUND');
      expect(error.data).toEqual({ what: 'blob', id: hash });
    });

    it('takes 5 MiB in pieces of any size and gives it back', async ({ engine }) => {
      const bytes = randomBytes(5 * MIB, 4);
      const stored = await engine.putBlob({ chunks: pieces(bytes, 5) });
      expect(stored).toMatchObject({ hash: hashBytes(bytes), size: bytes.length, existed: false });
      expect(hashBytes(await collect(engine, stored.hash))).toBe(stored.hash);
      expect(hashBytes(present(await engine.getBlob(stored.hash)))).toBe(stored.hash);
      expect(await engine.statBlob(stored.hash)).toMatchObject({ size: bytes.length });

      const again = await engine.putBlob({ chunks: pieces(bytes, 6) });
      expect(again).toMatchObject({ hash: stored.hash, existed: true });
    });

    it('knows bytes that came in a batch, and the other way round', async ({ engine }) => {
      const [first, second] = [blobOf('first'), blobOf('second')];
      await engine.commit({ blobs: [first] });
      expect(await engine.putBlob({ chunks: pieces(first.bytes, 7) })).toMatchObject({
        existed: true,
      });
      expect(await engine.putBlob({ chunks: pieces(second.bytes, 8) })).toMatchObject({
        existed: false,
      });
      await engine.commit({ blobs: [second] });
      expect(await engine.stats()).toMatchObject({ blobs: 2, blobBytes: 11 });
    });

    it('takes a stream without a byte', async ({ engine }) => {
      const stored = await engine.putBlob({ chunks: pieces(new Uint8Array(), 9) });
      expect(stored).toMatchObject({ hash: blobOf('').hash, size: 0, existed: false });
      expect(await readBytes(engine, stored.hash)).toEqual(new Uint8Array());
    });

    it('stores nothing of a stream that breaks', async ({ engine }) => {
      const bytes = randomBytes(2 * MIB, 10);
      const broken = engine.putBlob({ chunks: breakAfter(bytes) });
      await expect(broken).rejects.toThrow('the line went dead');
      expect(await engine.hasBlob(hashBytes(bytes))).toBe(false);
      expect((await engine.putBlob({ chunks: pieces(bytes, 11) })).existed).toBe(false);
    });

    it('finds by SHA-256 what was put with one', async ({ engine }) => {
      const plain = blobOf('plain');
      const batched = blobOf('batched');
      const streamed = blobOf('streamed');
      await engine.commit({ blobs: [plain, { ...batched, sha256: sha256Hex(batched.bytes) }] });
      const stored = await engine.putBlob({ chunks: pieces(streamed.bytes, 12), sha256: true });
      expect(stored.sha256).toBe(sha256Hex(streamed.bytes));
      expect(await engine.findBySha256(sha256Hex(batched.bytes))).toBe(batched.hash);
      expect(await engine.findBySha256(sha256Hex(streamed.bytes))).toBe(streamed.hash);
      expect(await engine.findBySha256(sha256Hex(plain.bytes))).toBeUndefined();
    });

    it('learns the SHA-256 of a blob that is there already', async ({ engine }) => {
      const [first, second] = [blobOf('first'), blobOf('second')];
      await engine.commit({ blobs: [first, second] });
      await engine.commit({ blobs: [{ ...first, sha256: sha256Hex(first.bytes) }] });
      await engine.putBlob({ chunks: pieces(second.bytes, 13), sha256: true });
      expect(await engine.findBySha256(sha256Hex(first.bytes))).toBe(first.hash);
      expect(await engine.findBySha256(sha256Hex(second.bytes))).toBe(second.hash);
    });

    it('lists hashes by their beginning, sorted, page by page', async ({ engine }) => {
      expect(await engine.listBlobs('', 9)).toEqual([]);
      const blobs = Array.from({ length: 300 }, (_, nth) => blobOf(`listed ${nth}`));
      await engine.commit({ blobs: blobs.slice(0, 200) });
      // The second part meets entries that the engine may have put elsewhere meanwhile.
      await engine.checkpoint();
      await engine.commit({ blobs: blobs.slice(150) });
      const hashes = blobs.map(({ hash }) => hash).toSorted();
      expect(await engine.listBlobs('', 1000)).toEqual(hashes);
      expect(await engine.listBlobs('', 0)).toEqual([]);
      expect(await engine.listBlobs('', 7, hashes[9])).toEqual(hashes.slice(10, 17));
      expect(await engine.listBlobs('', 7, hashes.at(-1))).toEqual([]);
      for (const digits of [1, 2, 8, 9, 63, 64]) {
        const prefix = present(hashes[100]).slice(0, digits);
        const found = hashes.filter((hash) => hash.startsWith(prefix));
        expect(await engine.listBlobs(prefix, 1000)).toEqual(found);
        expect(await engine.listBlobs(prefix, 1)).toEqual(found.slice(0, 1));
        expect(await engine.listBlobs(prefix, 1000, found[0])).toEqual(found.slice(1));
      }
      for (const prefix of ['0', 'f', '00000000', 'ffffffff', 'f'.repeat(64)]) {
        const found = hashes.filter((hash) => hash.startsWith(prefix));
        expect(await engine.listBlobs(prefix, 1000)).toEqual(found);
      }
      // Neither a hash before the beginning nor one after it hides or adds anything.
      const within = hashes.filter((hash) => hash.startsWith('8'));
      expect(await engine.listBlobs('8', 1000, hashes[0])).toEqual(within);
      expect(await engine.listBlobs('8', 1000, hashes.at(-1))).toEqual([]);
    });
  });
}

async function collect(
  engine: Engine,
  hash: Hash,
  start?: number,
  end?: number,
): Promise<Uint8Array> {
  const got: Uint8Array[] = [];
  for await (const piece of engine.readBlob(hash, start, end)) got.push(piece);
  return new Uint8Array(Buffer.concat(got));
}

/** Cuts `bytes` into pieces of 0 to 200,000 bytes. */
async function* pieces(bytes: Uint8Array, seed: number): AsyncGenerator<Uint8Array> {
  const random = randomNumbers(seed);
  for (let at = 0; at < bytes.length;) {
    const end = at + (random() % 200_000);
    yield bytes.subarray(at, end);
    at = end;
  }
}

async function* breakAfter(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
  throw new Error('the line went dead');
}

function randomBytes(length: number, seed: number): Uint8Array {
  const random = randomNumbers(seed);
  const words = Uint32Array.from({ length: Math.ceil(length / 4) }, random);
  return new Uint8Array(words.buffer, 0, length);
}

/** Marsaglia's xorshift32: the same numbers in every run. */
function randomNumbers(seed: number): () => number {
  let x = Math.imul(seed, 0x9e3779b9) | 1;
  return () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return x >>> 0;
  };
}
