import { hashToBytes } from '../../../base/hash.ts';
import { BlobCodec, type PreparedBlob } from '../../../format/blob-record.ts';
import { prepared, type Statement } from '../../../postgres/sql.ts';
import { type Transaction, sendRows } from '../../../postgres/transaction.ts';
import type { Draft } from '../../plan/draft.ts';
import { type Totals, addTotals } from '../feed/clock.ts';
import type { Hash } from '../../../base/brand.ts';

/** All bytes are sent as one value, and the server cuts it up: a list would be sent as hex digits. */
const PUT_BLOBS = prepared('put-blobs')`
  INSERT INTO quipu.blobs (hash, codec, size, stored_size, bytes, upload, put_seq, put_at)
  SELECT b.hash, b.codec, b.size, b.stored, CASE WHEN b.upload IS NULL THEN substr($7::bytea, b.start, b.stored::int) END,
    b.upload, $8::bigint, $9::bigint
  FROM unnest($1::bytea[], $2::smallint[], $3::bigint[], $4::bigint[], $5::int[], $6::uuid[])
    AS b(hash, codec, size, stored, start, upload)`;

const TOUCH_BLOBS = prepared('touch-blobs')`
  UPDATE quipu.blobs SET put_seq = $1, put_at = $2 WHERE hash = ANY($3::bytea[])`;

const FINISH_UPLOADS = prepared('finish-uploads')`
  DELETE FROM quipu.uploads WHERE id = ANY($1::uuid[])`;

const PUT_SHA256S = prepared('put-sha256s')`
  INSERT INTO quipu.sha256s (sha256, hash) SELECT * FROM unnest($1::bytea[], $2::bytea[])
  ON CONFLICT (sha256) DO UPDATE SET hash = excluded.hash`;

export const NOTE_ERASED: Statement = prepared('note-erased')`
  INSERT INTO quipu.erased_blobs (hash) SELECT unnest($1::bytea[]) ON CONFLICT DO NOTHING`;

/** A blob in parts: its sizes, and the upload that holds the parts. */
export interface UploadedBlob extends PreparedBlob {
  readonly upload: string;
  readonly storedBytes: number;
}

export interface BlobWrites {
  readonly draft: Draft;
  readonly seq: number;
  readonly totals: Totals;
  /** Blobs that were put and already existed: their writers may be about to refer to them. */
  readonly touched: readonly PreparedBlob['hash'][];
}

export function writeBlobs(
  transaction: Transaction,
  { draft, seq, totals, touched }: BlobWrites,
): void {
  const blobs = [...draft.blobs.entries()].map(([, blob]) => blob);
  if (blobs.length > 0) putBlobs(transaction, blobs, [seq, draft.nowMs]);
  for (const blob of blobs) {
    totals.blobs += 1;
    totals.blobBytes += blob.compressed.rawLength;
    totals.storedBytes += storedBytesOf(blob);
  }
  sendRows(
    transaction,
    NOTE_ERASED,
    [...draft.erased.entries()].map(([hash]) => [hashToBytes(hash)]),
  );
  const names = [...draft.sha256.entries()].map(([sha256, hash]) => [
    Buffer.from(sha256, 'hex'),
    hashToBytes(hash),
  ]);
  sendRows(transaction, PUT_SHA256S, names);
  if (touched.length > 0) {
    transaction.send(TOUCH_BLOBS, [seq, draft.nowMs, touched.map(hashToBytes)]);
  }
}

function putBlobs(
  transaction: Transaction,
  blobs: readonly PreparedBlob[],
  when: readonly [number, number],
): void {
  const inline: Uint8Array[] = [];
  const uploads: [string][] = [];
  let start = 1;
  const rows = blobs.map((blob) => {
    const { codec, rawLength, stored } = blob.compressed;
    const row = [hashToBytes(blob.hash), codec, rawLength, storedBytesOf(blob), start];
    if (isUploaded(blob)) {
      uploads.push([blob.upload]);
      return [...row, blob.upload];
    }
    inline.push(stored);
    start += stored.length;
    return [...row, null];
  });
  sendRows(transaction, PUT_BLOBS, rows, Buffer.concat(inline), ...when);
  sendRows(transaction, FINISH_UPLOADS, uploads);
}

function storedBytesOf(blob: PreparedBlob): number {
  return isUploaded(blob) ? blob.storedBytes : blob.compressed.stored.length;
}

function isUploaded(blob: PreparedBlob): blob is UploadedBlob {
  return blob.compressed.codec === BlobCodec.chunks;
}

/** Removes the parts and the blob in one statement, which sees the blob before it is gone. */
const DROP_BLOBS = prepared('drop-blobs')`
  WITH gone AS (DELETE FROM quipu.blobs WHERE hash = ANY($1::bytea[]) AND put_seq <= $2
    RETURNING size, stored_size, upload),
  parts AS (DELETE FROM quipu.blob_parts p USING gone g WHERE p.upload = g.upload)
  SELECT count(*) AS blobs, coalesce(sum(size), 0)::bigint AS size,
    coalesce(sum(stored_size), 0)::bigint AS stored FROM gone`;

/** Removes these blobs, if they were not put after the commit `seq`. */
export async function dropBlobs(
  transaction: Transaction,
  hashes: readonly Hash[],
  seq: number,
): Promise<{ readonly blobs: number; readonly stored: number }> {
  const values = [hashes.map(hashToBytes), seq];
  const rows = await transaction.query<{ blobs: number; size: number; stored: number }>(
    DROP_BLOBS,
    values,
  );
  const { blobs = 0, size = 0, stored = 0 } = rows[0] ?? {};
  if (blobs > 0) addTotals(transaction, { blobs: -blobs, blobBytes: -size, storedBytes: -stored });
  return { blobs, stored };
}
