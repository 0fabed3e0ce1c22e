import { shown } from '../base/text.ts';
import { join } from 'node:path';
import { toHash, type Hash } from '../base/brand.ts';
import { checkWhole } from '../base/check-value.ts';
import { type QuipuError, invalid, notFound, unsupported } from '../base/errors.ts';
import { hashBytes, sha256Hex } from '../base/hash.ts';
import type { Lifetime } from '../base/lifetime.ts';
import { toStream } from '../base/to-stream.ts';
import type { Engine } from '../engine/engine.ts';
import type { BlobInfo, Blobs, ByteRange } from './blobs.ts';

/** A blob up to this size goes through the journal in one commit; a larger blob is written in pieces. */
const COMMIT_BYTES_MAX = 1_048_576;

const LIST_DEFAULT = 50;
const LIST_MAX = 10_000;

interface PutOptions {
  readonly sha256?: boolean;
}

/** Erasing is maintenance of the whole store, and another module adds it. */
export function createBlobs(engine: Engine, lifetime: Lifetime): Omit<Blobs, 'erase' | 'path'> {
  return lifetime.guard('blobs', {
    async put(
      source: Uint8Array | AsyncIterable<Uint8Array>,
      options: PutOptions = {},
    ): Promise<BlobInfo> {
      const sha256 = options.sha256 ?? false;
      if (source instanceof Uint8Array && source.length <= COMMIT_BYTES_MAX) {
        // The caller keeps its array and may write to it before the commit reaches the disk.
        return putBytes(engine, new Uint8Array(source), sha256);
      }
      const { chunks: _, ...stored } = await engine.putBlob({ chunks: toChunks(source), sha256 });
      return stored;
    },

    async get(ref) {
      const hash = await findHash(engine, ref);
      return hash && engine.getBlob(hash);
    },

    async has(ref) {
      const hash = await findHash(engine, ref);
      return hash !== undefined && engine.hasBlob(hash);
    },

    async stat(ref) {
      const hash = await findHash(engine, ref);
      return hash && engine.statBlob(hash);
    },

    async list(options = {}) {
      const { prefix = '', limit = LIST_DEFAULT, cursor } = options;
      checkWhole(limit, 'limit', 1, LIST_MAX);
      if (typeof prefix !== 'string' || !/^[0-9a-f]{0,64}$/.test(prefix)) {
        throw invalid('prefix', `must be up to 64 lower-case hex digits, got ${shown(prefix)}`);
      }
      const after = cursor === undefined ? undefined : toHash(cursor, 'cursor');
      const items = await engine.listBlobs(prefix, limit, after);
      const last = items.at(-1);
      return { items, ...(items.length === limit && last !== undefined && { cursor: last }) };
    },

    stream(ref, range = {}) {
      parseBlobRef(ref);
      checkRange(range);
      return toStream(readPieces(engine, ref, range));
    },
  });
}

async function putBytes(engine: Engine, bytes: Uint8Array, sha256: boolean): Promise<BlobInfo> {
  const hash = hashBytes(bytes);
  const also = sha256 ? { sha256: sha256Hex(bytes) } : {};
  const existed = await engine.hasBlob(hash);
  await engine.commit({ blobs: [{ hash, bytes, ...also }] });
  const stat = await engine.statBlob(hash);
  return { hash, ...also, size: bytes.length, storedSize: stat?.storedSize ?? 0, existed };
}

async function* toChunks(
  source: Uint8Array | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (source instanceof Uint8Array) {
    for (let start = 0; start < source.length; start += COMMIT_BYTES_MAX) {
      yield new Uint8Array(source.subarray(start, start + COMMIT_BYTES_MAX));
    }
    return;
  }
  for await (const chunk of source) {
    if (!(chunk instanceof Uint8Array)) throw invalid('source', 'must yield Uint8Arrays only');
    yield chunk;
  }
}

export async function findHash(engine: Engine, ref: string): Promise<Hash | undefined> {
  const parsed = parseBlobRef(ref);
  return parsed.by === 'hash' ? parsed.hash : engine.findBySha256(parsed.sha256);
}

async function* readPieces(
  engine: Engine,
  ref: string,
  range: ByteRange,
): AsyncGenerator<Uint8Array, void, undefined> {
  const hash = await findHash(engine, ref);
  if (hash === undefined) throw noBlob(ref);
  yield* engine.readBlob(hash, range.start, range.end);
}

export function noBlob(ref: string): QuipuError<'NOT_FOUND'> {
  return notFound('blob', ref, `there is no blob ${ref}`);
}

function checkRange({ start = 0, end = Number.MAX_SAFE_INTEGER }: ByteRange): void {
  if (!Number.isSafeInteger(start) || start < 0) {
    throw invalid('start', `must be a whole number from 0, got ${shown(start)}`);
  }
  if (!Number.isSafeInteger(end) || end < start) {
    throw invalid('end', `must be a whole number from start (${start}), got ${shown(end)}`);
  }
}

export type BlobRef =
  | { readonly by: 'hash'; readonly hash: Hash }
  | { readonly by: 'sha256'; readonly sha256: string };

/** Parses the forms that a reference to a blob may take. */
export function parseBlobRef(ref: string): BlobRef {
  const text = typeof ref === 'string' ? ref : '';
  const [, scheme = '', hex] = /^(b3:|blob:sha256:)?([0-9a-f]{64})$/.exec(text) ?? [];
  if (hex !== undefined) {
    return scheme === 'blob:sha256:'
      ? { by: 'sha256', sha256: hex }
      : { by: 'hash', hash: toHash(hex) };
  }
  throw invalid(
    'ref',
    `must be 64 lower-case hex digits, alone or after "b3:" or "blob:sha256:", got ${shown(ref)}`,
  );
}

/** Files are for programs that want a path; the folder can be deleted at any time. */
const FOLDER = 'blob-files';

/** The blob as a file named by its SHA-256. The file is created when it does not exist. */
export async function blobPath(
  engine: Engine,
  folder: string | undefined,
  ref: string,
): Promise<string> {
  if (folder === undefined) {
    throw unsupported(
      'blobs.path',
      'a store on a server',
      'blobs.path needs the folder of the store on this machine; use blobs.get or blobs.stream',
    );
  }
  const hash = await findHash(engine, ref);
  const bytes = hash && (await engine.viewBlob(hash));
  if (bytes === undefined) throw noBlob(ref);
  const { BlobFiles } = await import('../session/entries/blob-files.ts');
  return (await new BlobFiles(join(folder, FOLDER)).put(bytes)).path;
}

/** Removes unfinished files that dead processes left behind. */
export async function removeDrafts(folder: string, olderThanMs: number): Promise<void> {
  const { BlobFiles } = await import('../session/entries/blob-files.ts');
  new BlobFiles(join(folder, FOLDER)).removeDrafts(olderThanMs);
}
