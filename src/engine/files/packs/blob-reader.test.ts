import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { decompress } from '../../../base/compress.ts';
import { HASH_BYTES, hashBytes } from '../../../base/hash.ts';
import { mapShelves } from '../../../testing/map-shelves.ts';
import { MemoryIo } from '../../../testing/disk/memory-io.ts';
import { openFilesEngine } from '../open-files-engine.ts';

function store(): { io: MemoryIo; open: () => ReturnType<typeof openFilesEngine> } {
  const io = new MemoryIo();
  const shelves = mapShelves();
  return { io, open: () => openFilesEngine('/store', { io, shelves, checkpointMs: Infinity }) };
}

it('keeps what is read in memory, but not what is read once', async () => {
  const { open } = store();
  const bytes = Buffer.from('said once '.repeat(100));
  const hash = hashBytes(bytes);
  const writer = await open();
  await writer.putBlob({ chunks: Readable.from([bytes]) });
  await writer.close();
  const engine = await open();
  expect(Buffer.from((await engine.viewBlob(hash, 'once')) ?? [])).toEqual(bytes);
  expect(engine.peekBlob?.(hash)).toBeUndefined();
  await engine.viewBlob(hash);
  expect(engine.peekBlob?.(hash)).toBeDefined();
  await engine.close();
});

describe('many blobs at once', () => {
  const texts = Array.from({ length: 300 }, (_, nth) =>
    Buffer.from(`said ${nth} `.repeat(nth + 1)),
  );
  const hashes = texts.map(hashBytes);

  it('come in the order of the request, whatever their order on the disk', async () => {
    const { open } = store();
    const writer = await open();
    for (const text of texts) await writer.putBlob({ chunks: Readable.from([text]) });
    await writer.close();
    const engine = await open();
    const wanted = hashes.map((_, nth) => (nth * 7) % hashes.length);
    const views = await engine.viewBlobs?.(wanted.map((nth) => hashes[nth]!));
    expect(views?.map((view) => view && hashBytes(view.bytes))).toEqual(
      wanted.map((nth) => hashes[nth]),
    );
    expect(hashes.filter((hash) => engine.peekBlob?.(hash) !== undefined)).toEqual([]);
    const frames =
      views?.flatMap((view) => (view?.zstd ? [{ ...view, zstd: view.zstd }] : [])) ?? [];
    expect(frames.length).toBeGreaterThan(0);
    for (const { bytes, zstd } of frames) {
      expect(zstd.length).toBeLessThan(bytes.length);
      expect(Buffer.from(decompress(zstd, bytes.length))).toEqual(Buffer.from(bytes));
    }
    await engine.close();
  });

  it('are those of now, when they lie behind the ones that were read before', async () => {
    const { open } = store();
    const writer = await open();
    for (const text of texts) await writer.putBlob({ chunks: Readable.from([text]) });
    await writer.close();
    const engine = await open();
    const first = await engine.viewBlobs?.(hashes.slice(0, 5));
    expect(first?.every((view) => view !== undefined)).toBe(true);
    await engine.upkeep.eraseBlob(hashes[8]!);
    const next = [...hashes.slice(5, 10), hashes[20]!, hashes[5]!];
    const views = await engine.viewBlobs?.(next);
    expect(views?.map((view) => view && hashBytes(view.bytes))).toEqual(
      next.map((hash, nth) => (nth === 3 ? undefined : hash)),
    );
    await engine.close();
  });

  it('leave out what is missing, damaged or large, and nothing else', async () => {
    const { io, open } = store();
    const large = randomBytes(300_000);
    const missing = hashBytes(Buffer.from('never said'));
    const writer = await open();
    for (const text of [...texts.slice(0, 20), large])
      await writer.putBlob({ chunks: Readable.from([text]) });
    await writer.close();
    const engine = await open();
    const pack = await io.open('/store/blobs/pack-000001.pack', 'write');
    const content = io.contentOf('/store/blobs/pack-000001.pack')?.toBytes() ?? Buffer.alloc(0);
    const damaged = Buffer.from(content).indexOf(Buffer.from(hashes[7] ?? '', 'hex')) + HASH_BYTES;
    await pack.write(Buffer.from([(content[damaged] ?? 0) ^ 1]), damaged);
    await pack.close();
    const asked = [...hashes.slice(0, 20), missing, hashBytes(large)];
    const views = (await engine.viewBlobs?.(asked)) ?? [];
    const found = asked.map((_, nth) => nth < 20 && nth !== 7);
    expect(views.map((view) => view !== undefined)).toEqual(found);
    expect(Buffer.from((await engine.viewBlob(asked.at(-1)!)) ?? [])).toEqual(large);
    await expect(engine.viewBlob(asked[7]!)).rejects.toMatchObject({ code: 'CORRUPT' });
    await engine.close();
  });
});
