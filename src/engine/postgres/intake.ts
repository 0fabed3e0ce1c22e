import { invalid } from '../../base/errors.ts';
import { hashBytes, sha256Hex } from '../../base/hash.ts';
import type { Hash } from '../../base/brand.ts';
import { LARGE_BLOB_BYTES } from '../../format/chunker.ts';
import type { Database } from '../../postgres/database.ts';
import type { Batch, BlobPut } from '../batch.ts';
import type { BlobSource } from '../engine.ts';
import type { PreparedBatch } from '../plan/prepared-batch.ts';
import { prepareBlob, type PreparedBlob } from '../../format/blob-record.ts';
import { takeIn } from './blobs/upload.ts';

export interface PreparedSource {
  readonly batch: PreparedBatch;
  readonly hash: Hash;
  readonly sha256: string | undefined;
}

/**
 * The work before a commit, outside of any transaction. A batch of small blobs is ready at once, so commits keep
 * the order in which they were sent. A batch with a large blob joins the queue when that blob is written.
 */
export function prepareBatch(
  database: Database,
  batch: Batch,
): PreparedBatch | Promise<PreparedBatch> {
  assertWritable(batch);
  const { blobs = [], deltas, ...others } = batch;
  // A batch waits for its group, and the caller may reuse its buffers meanwhile.
  const copied = deltas?.map((delta) => ({ ...delta, bytes: new Uint8Array(delta.bytes) }));
  const rest = copied === undefined ? others : { ...others, deltas: copied };
  if (blobs.every(({ bytes }) => bytes.length < LARGE_BLOB_BYTES)) {
    return toPrepared(rest, blobs.map(prepareBlob));
  }
  return prepareLarge(database, rest, blobs);
}

async function prepareLarge(
  database: Database,
  rest: PreparedBatch['rest'],
  blobs: readonly BlobPut[],
): Promise<PreparedBatch> {
  const prepared: PreparedBlob[] = [];
  for (const blob of blobs) {
    const taken = await takeIn(database, once(blob.bytes), false);
    if (taken.kind === 'small') prepared.push(prepareBlob(blob));
    else prepared.push({ ...taken.blob, sha256: blob.sha256 });
  }
  return toPrepared(rest, prepared);
}

export async function prepareSource(
  database: Database,
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

function toPrepared(rest: PreparedBatch['rest'], blobs: readonly PreparedBlob[]): PreparedBatch {
  return { rest, blobs, extents: [], relies: [] };
}

/** PostgreSQL cannot store this one character, and a batch with it must not fail a whole group. */
function assertWritable({ turns = [], opens = [], contexts = [] }: Batch): void {
  for (const { type } of [...turns, ...opens]) assertText(type, 'type');
  for (const change of contexts) {
    if (change.do === 'remove') continue;
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
