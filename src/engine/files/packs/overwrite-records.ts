import type { StateWriter } from '../truth/state.ts';
import { BlobCodec, encodeBlobRecord } from '../../../format/blob-record.ts';
import { encodeErasedRecord } from '../../../format/erased-record.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import type { BlobPlace } from '../index/shelf.ts';
import { packFile } from './pack-file.ts';
import { ERASED_FILE } from './erased-blobs.ts';

/**
 * Overwrites records in place, all of them in one frame, and notes the erasure: backups follow these notes. The
 * index does not find the blobs there any more. Call this within `exclusively`.
 */
export async function overwriteRecords(
  writer: StateWriter,
  places: readonly BlobPlace[],
): Promise<void> {
  if (places.length === 0) return;
  const { core, nowMs } = writer;
  const writes: JournalWrite[] = [];
  const notes: Uint8Array[] = [];
  for (const { hash, pack, offset, rawLength, storedLength } of places) {
    const stored = new Uint8Array(storedLength);
    const data = encodeBlobRecord({ codec: BlobCodec.erased, rawLength, hash, stored });
    writes.push({ kind: 'bytes', path: packFile(pack), offset, data });
    const length = data.length;
    notes.push(encodeErasedRecord({ hash, pack, offset, length, erasedAt: nowMs }));
  }
  const data = Buffer.concat(notes);
  writes.push({ kind: 'bytes', path: ERASED_FILE, offset: core.erased.fileBytes, data });
  await writer.storeWrites(writes, () => {
    core.index.forgetBlobs(places);
    for (const { hash } of places) core.erased.add(hash);
    core.blobs.forget(places.map(({ hash }) => hash));
  });
}
