import type { Hash } from '../../../base/brand.ts';
import { BLOB_OVERHEAD_BYTES, BlobCodec, encodeBlobRecord } from '../../../format/blob-record.ts';
import { encodeErasedRecord } from '../../../format/erased-record.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import { readPatchEdges, readTurnEdges } from '../collect/edges.ts';
import type { BlobPlace } from '../index/shelf.ts';
import { ERASED_FILE, packFile } from '../names.ts';
import type { Writer } from '../writer.ts';

// Erasing: every record of the blob is overwritten in place with zeros of the same length, through the
// journal, and then the journal itself is overwritten. When `eraseBlob` resolves, no file of the store
// holds the bytes; a crash before that leaves a note, and opening the store finishes the work.

export async function eraseBlob(writer: Writer, hash: Hash): Promise<void> {
  await writer.upkeep('erasing', async () => {
    const targets = [hash, ...(await chunksOfItsOwn(writer, hash))];
    for (const target of targets) await eraseRecords(writer, target);
    await writer.scrubJournal();
  });
}

/** A blob may have been stored more than once, by puts that ran side by side: every record goes. */
async function eraseRecords(writer: Writer, hash: Hash): Promise<void> {
  const { core } = writer;
  for (;;) {
    const erased = await writer.exclusively(async () => {
      const place = core.index.findBlob(hash);
      if (place === undefined) return false;
      const writes = await eraseWrites(writer, place);
      await writer.storeWrites(writes, () => {
        core.index.forgetBlobs([place]);
        const storedBytes = -(BLOB_OVERHEAD_BYTES + place.storedLength);
        core.index.count({ blobs: -1, blobBytes: -place.rawLength, storedBytes });
        core.blobs.forget([hash]);
        core.erased.add(hash);
      });
      return true;
    });
    if (!erased) return;
  }
}

async function eraseWrites(writer: Writer, place: BlobPlace): Promise<JournalWrite[]> {
  const { hash, pack, offset, rawLength, storedLength } = place;
  const stored = new Uint8Array(storedLength);
  const data = encodeBlobRecord({ codec: BlobCodec.erased, rawLength, hash, stored });
  const erasedAt = writer.nowMs;
  const note = encodeErasedRecord({ hash, pack, offset, length: data.length, erasedAt });
  const end = await writer.core.files.size(ERASED_FILE);
  return [
    { kind: 'bytes', path: packFile(pack), offset, data },
    { kind: 'bytes', path: ERASED_FILE, offset: end, data: note },
  ];
}

/** The chunks of the blob that nothing else uses: no other chunk list, no turn, no patch. */
async function chunksOfItsOwn({ core }: Writer, hash: Hash): Promise<Iterable<Hash>> {
  const own = new Set(await core.blobs.chunksOf(hash));
  if (own.size === 0) return own;
  for (const place of core.index.walkBlobs()) {
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
