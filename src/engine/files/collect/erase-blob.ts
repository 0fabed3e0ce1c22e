import type { Hash } from '../../../base/brand.ts';
import { BLOB_OVERHEAD_BYTES, BlobCodec } from '../../../format/blob-record.ts';
import type { Writer } from '../commit/writer.ts';
import type { BlobPlace } from '../index/shelf.ts';
import { overwriteRecords, readErased } from '../packs/erased-blobs.ts';
import { packFile } from '../packs/pack-file.ts';
import { readPatchEdges } from '../patches/patches.ts';
import { type FileRange, Quarantine } from '../truth/quarantine.ts';
import { readTurnEdges } from '../turns/turn-table.ts';

// Erasing overwrites every record of the blob in place with zeros of the same length, through the journal. The
// journal itself is overwritten before and after. When `eraseBlob` resolves, no file of the store holds the bytes.
// The journal is overwritten before, so that a crash at any later point leaves nothing there, whatever checkpoint
// the crash follows. It is overwritten after, because the same bytes may have been put meanwhile. A blob and its
// chunks go in one frame. Only when they are too large for one frame do chunks go first. Then a crash leaves the
// list, and erasing the blob again finds the other chunks by it.

/** Small enough for the reserve: on a full disk the frame of an erasure uses that space. */
const FRAME_BYTES_MAX = 1024 * 1024;

export async function eraseBlob(writer: Writer, hash: Hash): Promise<void> {
  await writer.upkeep('erasing', async () => {
    const { core } = writer;
    const relied = new Set<Hash>();
    // A commit or a put beside this may need one of the chunks for another blob.
    core.reliance = { blob: (needed) => relied.add(needed), turn: () => undefined };
    const isNeeded = (chunk: Hash): boolean => relied.has(chunk) || writer.held.has(chunk);
    try {
      await writer.scrubJournal();
      const chunks = [...(await chunksOfItsOwn(writer, hash))];
      const left = (): Hash[] => [...chunks.filter((chunk) => !isNeeded(chunk)), hash];
      await eraseCopies(writer, left());
      while (await writer.exclusively(() => eraseSome(writer, left())));
      await writer.scrubJournal();
    } finally {
      core.reliance = undefined;
    }
  });
}

/**
 * Erases the copies that a repair set aside. This runs before the records are erased, while their places are known.
 */
async function eraseCopies({ core }: Writer, hashes: readonly Hash[]): Promise<void> {
  const quarantine = await Quarantine.load(core.files);
  if (quarantine.copies.length === 0) return;
  const ranges = new Map(hashes.map((hash): [Hash, FileRange[]] => [hash, []]));
  // The places include those that an unfinished attempt has overwritten.
  for await (const { hash, pack, offset, length } of readErased(core.files)) {
    ranges.get(hash)?.push({ file: packFile(pack), offset, length });
  }
  for (const [hash, known] of ranges) {
    const place = core.index.findBlob(hash);
    if (place !== undefined) {
      const length = BLOB_OVERHEAD_BYTES + place.storedLength;
      known.push({ file: packFile(place.pack), offset: place.offset, length });
    }
    await quarantine.erase(hash, known);
  }
}

/**
 * Overwrites as many records as one frame takes, in order. Returns false when there was none. Concurrent puts may
 * have stored a blob more than once. Then the blob is found again.
 */
async function eraseSome(writer: Writer, hashes: readonly Hash[]): Promise<boolean> {
  const places: BlobPlace[] = [];
  let bytes = 0;
  for (const hash of hashes) {
    const place = writer.core.index.findBlob(hash);
    if (place === undefined) continue;
    bytes += BLOB_OVERHEAD_BYTES + place.storedLength;
    if (places.length > 0 && bytes > FRAME_BYTES_MAX) break;
    places.push(place);
  }
  await overwriteRecords(writer, places);
  return places.length > 0;
}

/** The chunks that only this blob uses: no other chunk list, no turn and no patch names them. */
async function chunksOfItsOwn({ core }: Writer, hash: Hash): Promise<Iterable<Hash>> {
  const own = new Set(await core.blobs.chunksOf(hash));
  if (own.size === 0) return own;
  for (const place of core.index.flushed().walkBlobs()) {
    if (place.codec !== BlobCodec.chunks || place.hash === hash) continue;
    for (const chunk of await core.blobs.chunksOf(place.hash)) own.delete(chunk);
  }
  for await (const page of readTurnEdges(core, core.tails.nextTurn, core.openTurns)) {
    for (const { payload } of page) own.delete(payload);
  }
  for await (const page of readPatchEdges(core, core.tails.nextPatch)) {
    for (const { payload } of page) own.delete(payload);
  }
  return own;
}
