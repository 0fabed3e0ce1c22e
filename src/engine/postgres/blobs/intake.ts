import { randomUUID } from 'node:crypto';
import { invalid, tooLarge } from '../../../base/errors.ts';
import {
  createHasher,
  createSha256,
  hashBytes,
  hashToBytes,
  sha256Hex,
} from '../../../base/hash.ts';
import type { Hash } from '../../../base/brand.ts';
import { LARGE_BLOB_BYTES } from '../../../format/chunker.ts';
import type { Batch, BlobPut } from '../../batch.ts';
import type { BlobSource } from '../../engine.ts';
import type { PreparedBatch } from '../../plan/prepared-batch.ts';
import {
  BlobCodec,
  prepareBlob,
  compressBlob,
  type PreparedBlob,
} from '../../../format/blob-record.ts';
import { prepared, type Sql } from '../../../postgres/sql.ts';
import type { UploadedBlob } from './write-blobs.ts';

export interface PreparedSource {
  readonly batch: PreparedBatch;
  readonly hash: Hash;
  readonly sha256: string | undefined;
}

/**
 * The work before a commit, outside of any transaction. A batch of small blobs is ready at once, so commits keep
 * the order in which they were sent. A batch with a large blob joins the queue when that blob is written.
 */
export function prepareBatch(database: Sql, batch: Batch): PreparedBatch | Promise<PreparedBatch> {
  assertWritable(batch);
  const { blobs = [], deltas, ...others } = batch;
  // A batch waits for its group, and the caller may reuse its buffers meanwhile.
  const copied = deltas?.map((delta) => ({ ...delta, bytes: new Uint8Array(delta.bytes) }));
  const changes = copied === undefined ? others : { ...others, deltas: copied };
  if (blobs.every(({ bytes }) => bytes.length < LARGE_BLOB_BYTES)) {
    return toPrepared(changes, blobs.map(prepareBlob));
  }
  return prepareAll(database, changes, blobs);
}

/** Prepares a blob within the transaction of the group that waits for it. */
export function prepareAlone(transaction: Sql, blob: BlobPut): Promise<PreparedBatch> {
  return prepareAll(transaction, {}, [blob]);
}

async function prepareAll(
  sql: Sql,
  changes: PreparedBatch['changes'],
  blobs: readonly BlobPut[],
): Promise<PreparedBatch> {
  const prepared: PreparedBlob[] = [];
  for (const blob of blobs) {
    const taken = await takeIn(sql, once(blob.bytes), false);
    if (taken.kind === 'small') prepared.push(prepareBlob(blob));
    else prepared.push({ ...taken.blob, sha256: blob.sha256 });
  }
  return toPrepared(changes, prepared);
}

export async function prepareSource(
  database: Sql,
  { chunks, sha256: wanted = false }: BlobSource,
): Promise<PreparedSource> {
  const taken = await takeIn(database, chunks, wanted);
  if (taken.kind === 'large') {
    const { hash, sha256 } = taken.blob;
    return { batch: toPrepared({}, [taken.blob]), hash, sha256 };
  }
  const { bytes } = taken;
  const hash = hashBytes(bytes);
  const sha256 = wanted ? sha256Hex(bytes) : undefined;
  const blob = prepareBlob({ hash, bytes, ...(sha256 !== undefined && { sha256 }) });
  return { batch: toPrepared({}, [blob]), hash, sha256 };
}

function toPrepared(
  changes: PreparedBatch['changes'],
  blobs: readonly PreparedBlob[],
): PreparedBatch {
  return { changes, blobs, extents: [], relies: [] };
}

/** PostgreSQL cannot store this one character, and a batch with it must not fail a whole group. */
function assertWritable({ turns = [], opens = [], contexts = [] }: Batch): void {
  for (const { type } of [...turns, ...opens]) assertText(type, 'type');
  for (const change of contexts) {
    if (change.do !== 'create' && change.do !== 'describe') continue;
    const { kind, labels = [] } = change.meta ?? {};
    if (kind !== undefined) assertText(kind, 'kind');
    for (const label of labels) assertText(label, 'label');
  }
}

function assertText(text: string, what: string): void {
  if (text.includes('\0'))
    throw invalid(what, 'has a zero character, which PostgreSQL cannot keep');
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

// A blob that is too large for one row is written in parts, before its hash is known and outside of any commit. The
// commit makes the parts a blob by naming their upload. A collection removes parts that no blob names when their
// upload was not touched for a day.

/** Raw bytes of every part but the last, so the place of a byte is arithmetic. */
export const PART_BYTES: number = LARGE_BLOB_BYTES;
export const BLOB_BYTES_MAX = 0xffff_ffff;

// Sending these statements again after a lost connection changes nothing.

const START = prepared('start-upload')`
  INSERT INTO quipu.uploads (id) VALUES ($1) ON CONFLICT DO NOTHING`;

const PUT_PART = prepared('put-part')`
  WITH touched AS (UPDATE quipu.uploads SET touched_at = now() WHERE id = $1)
  INSERT INTO quipu.blob_parts (upload, nth, hash, codec, size, bytes) VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT DO NOTHING`;

/** A blob read to its end: small ones are in memory, large ones in parts. */
type TakenIn =
  | { readonly kind: 'small'; readonly bytes: Uint8Array }
  | { readonly kind: 'large'; readonly blob: UploadedBlob };

/** Reads `source` once, in bounded memory. Only a large blob is written here. */
async function takeIn(
  sql: Sql,
  source: AsyncIterable<Uint8Array>,
  wantSha256: boolean,
): Promise<TakenIn> {
  let unsent: Buffer = Buffer.alloc(0);
  let upload: Upload | undefined;
  for await (const piece of source) {
    unsent = Buffer.concat([unsent, piece]);
    if (upload === undefined && unsent.length < LARGE_BLOB_BYTES) continue;
    upload ??= await startUpload(sql, wantSha256);
    while (unsent.length >= PART_BYTES) {
      await upload.add(unsent.subarray(0, PART_BYTES));
      unsent = unsent.subarray(PART_BYTES);
    }
  }
  if (upload === undefined) return { kind: 'small', bytes: unsent };
  if (unsent.length > 0) await upload.add(unsent);
  return { kind: 'large', blob: upload.finish() };
}

interface Upload {
  add(bytes: Uint8Array): Promise<void>;
  finish(): UploadedBlob;
}

async function startUpload(sql: Sql, wantSha256: boolean): Promise<Upload> {
  const upload = randomUUID();
  const whole = createHasher();
  const sha256 = wantSha256 ? createSha256() : undefined;
  let parts = 0;
  let size = 0;
  let storedBytes = 0;
  await sql.query(START, [upload]);
  return {
    async add(bytes) {
      size += bytes.length;
      if (size > BLOB_BYTES_MAX) {
        const message = `a blob has at most ${BLOB_BYTES_MAX} bytes; store it in parts`;
        throw tooLarge('blob', BLOB_BYTES_MAX, size, message);
      }
      whole.update(bytes);
      sha256?.update(bytes);
      const { codec, rawLength, stored } = compressBlob(bytes);
      const hash = hashToBytes(hashBytes(bytes));
      await sql.query(PUT_PART, [upload, parts, hash, codec, rawLength, Buffer.from(stored)]);
      parts += 1;
      storedBytes += stored.length;
    },
    finish: () => ({
      hash: whole.digest(),
      sha256: sha256?.digest(),
      compressed: { codec: BlobCodec.chunks, rawLength: size, stored: new Uint8Array() },
      upload,
      storedBytes,
    }),
  };
}
