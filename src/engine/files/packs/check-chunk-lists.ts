import { BLOB_OVERHEAD_BYTES, BlobCodec, decodeBlobRecord } from '../../../format/blob-record.ts';
import { type Chunk, decodeChunkList } from '../../../format/chunk-list.ts';
import type { BlobPlace } from '../index/shelf.ts';
import { packFile } from './pack-file.ts';
import type { Check } from '../truth/check.ts';

const STEP = 64;

export type ListPlace = Pick<BlobPlace, 'pack' | 'offset' | 'storedLength'>;

/**
 * Checks blobs stored in chunks: every chunk exists and is intact, and together they have the right length. The
 * hash of the whole blob is checked when it is read as a whole: computing it here, too, would read and hash
 * everything twice.
 */
export async function checkChunkLists(check: Check, lists: readonly ListPlace[]): Promise<void> {
  for (const [done, place] of lists.entries()) {
    await checkList(check, place);
    if (done % STEP === 0) await check.findings.rest(0, 'chunks');
  }
}

async function checkList(check: Check, place: ListPlace): Promise<void> {
  const { core, files, findings, blobs } = check;
  const { pack, offset, storedLength } = place;
  const length = BLOB_OVERHEAD_BYTES + storedLength;
  const record = decodeBlobRecord(await files.read(packFile(pack), offset, length));
  // A damaged record was reported when its pack was read.
  if (record?.codec !== BlobCodec.chunks) return;
  const { hash, rawLength } = record;
  const chunks = decodeChunkList(record.stored);
  const wrong =
    chunks === undefined || !addsUp(chunks, rawLength)
      ? 'the chunks of this blob do not add up'
      : chunks.every((chunk) => isChunkThere(check, chunk))
        ? undefined
        : 'a chunk of this blob cannot be read';
  if (wrong === undefined) return;
  const best = core.index.findBlob(hash);
  if (best?.pack === pack && best.offset === offset) blobs.unreadable.add(hash);
  findings.add({
    what: wrong,
    file: packFile(pack),
    offset,
    id: hash,
    severity: 'lost',
    length,
  });
}

function addsUp(chunks: readonly Chunk[], rawLength: number): boolean {
  return chunks.reduce((sum, chunk) => sum + chunk.size, 0) === rawLength;
}

function isChunkThere({ core, blobs }: Check, { hash, size }: Chunk): boolean {
  const found = blobs.sizeOf(core, hash);
  return found === size || found === 'unknown';
}
