import { toTurnId, type Hash } from '../../base/brand.ts';
import { notFound, type QuipuError } from '../../base/errors.ts';
import { groupsOf } from '../../base/pages.ts';
import type { Sha256Name } from '../../engine/adoption.ts';
import type { BlobPut } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { BlobEntry } from '../../engine/upkeep.ts';
import { LiveSet } from '../live-set.ts';
import { mapFew, storedBlobs, type Pair } from './pair.ts';

/** A blob of this size or more is streamed, however large it is. */
const LARGE_BYTES = 256 * 1024;
/** Small blobs share a commit: this many bytes, and this many blobs. */
const BATCH_BYTES = 1024 * 1024;
const BATCH_BLOBS = 1024;
/** Commits under way. From four on, an engine compresses blobs on a thread of its own, while we read the next ones. */
const COMMITS = 6;
const PAGE = 1024;
/** Blobs read at a time, and in memory together: 8 MiB at most. */
const FEW = 32;

export interface BlobCounts {
  readonly blobs: number;
  readonly blobBytes: number;
}

export async function copyBlobs(pair: Pair): Promise<BlobCounts> {
  const { from, to } = pair;
  const copier = new BlobCopier(pair);
  const isThere = (hash: Hash): Promise<boolean> => to.hasBlob(hash);
  try {
    if ((await to.stats()).blobs > 0) await copyRest(pair, copier, isThere);
    else await copyAll(pair, copier, isThere);
  } finally {
    await copier.settled();
  }
  for await (const erased of from.upkeep.records.erased()) {
    for (const slice of groupsOf(erased, PAGE)) await to.upkeep.adopt({ erased: slice });
  }
  for await (const names of from.upkeep.records.sha256Names()) await copyNames(pair, names);
  return copier.counts;
}

type IsThere = (hash: Hash) => boolean | Promise<boolean>;

/**
 * Copies payloads in the order of their turns first. Such neighbours lie together on the disk, so they are read
 * together, and they stay neighbours in the copy.
 */
async function copyAll(pair: Pair, copier: BlobCopier, isThere: IsThere): Promise<void> {
  const copied = new LiveSet();
  for await (const few of payloadsOf(pair)) {
    const missing = few.filter(({ hash }) => !copied.has(hash));
    for (const blob of await readMany(pair.from, missing)) {
      // Turns may share a payload.
      if (copied.has(blob.hash)) continue;
      copied.add(blob.hash);
      await copier.add(blob);
    }
  }
  if ((await pair.from.stats()).blobs === copied.size) {
    await copier.flush();
    return;
  }
  let skipped = 0;
  await copyRest(pair, copier, (hash) => {
    if (!copied.has(hash)) return false;
    skipped += 1;
    return true;
  });
  // The set knows a part of each hash. Where two blobs share it, one of them was skipped in vain.
  if (skipped !== copied.size) await copyRest(pair, copier, isThere);
}

/** The payloads of all turns in the order of turns, without those that are streamed. */
async function* payloadsOf({ from, progress }: Pair): AsyncGenerator<readonly Sized[]> {
  const { turn: last } = await from.tips();
  for (let next = 1n; next <= last;) {
    const page = await from.upkeep.records.turns(toTurnId(next), PAGE);
    if (page.length === 0) return;
    next += BigInt(page.length);
    const small: Sized[] = [];
    for (const entry of page) {
      if (entry.gone !== undefined) continue;
      const { payload: hash, size } = entry.row;
      if (hash !== undefined && size < LARGE_BYTES) small.push({ hash, size });
    }
    yield* groupsOf(small, FEW);
    progress(Number(next - 1n), Number(last), 'payloads');
  }
}

/** The blobs that are there. What is missing was erased, or is found to be missing when its turn is copied. */
async function readMany(from: Engine, wanted: readonly Sized[]): Promise<readonly BlobRead[]> {
  const many = await from.viewBlobs?.(wanted.map(({ hash }) => hash));
  const read = await mapFew([...wanted.entries()], async ([at, { hash, size }]) => {
    const bytes = many?.[at]?.bytes ?? (await from.viewBlob(hash, 'once'));
    return bytes && { hash, size, bytes, zstd: many?.[at]?.zstd };
  });
  return read.filter((blob) => blob !== undefined);
}

async function copyRest(pair: Pair, copier: BlobCopier, isThere: IsThere): Promise<void> {
  const { from, progress } = pair;
  const { blobs: total } = await from.stats();
  let seen = 0;
  for await (const page of storedBlobs(from)) {
    for (const few of groupsOf(page, FEW)) {
      const read = await mapFew(few, async (entry) =>
        (await isThere(entry.hash)) ? undefined : readSmall(from, entry),
      );
      for (const blob of read) if (blob !== undefined) await copier.add(blob);
      progress((seen += few.length), total, 'blobs');
    }
  }
  await copier.flush();
}

interface Sized {
  readonly hash: Hash;
  readonly size: number;
}

interface BlobRead extends Sized {
  /** Undefined for a blob that is streamed. */
  readonly bytes: Uint8Array | undefined;
  readonly zstd?: Uint8Array | undefined;
}

async function readSmall(from: Engine, { hash, size }: BlobEntry): Promise<BlobRead> {
  if (size >= LARGE_BYTES) return { hash, size, bytes: undefined };
  // Nobody changes the bytes: they go into a commit as they are.
  const bytes = await from.viewBlob(hash, 'once');
  if (bytes === undefined) throw lost(hash);
  return { hash, size, bytes };
}

/** Collects small blobs; a large blob is copied by itself. */
class BlobCopier {
  readonly #pair: Pair;
  #waiting: BlobPut[] = [];
  #waitingBytes = 0;
  /** Oldest first. */
  readonly #commits: Promise<unknown>[] = [];
  readonly counts = { blobs: 0, blobBytes: 0 };

  constructor(pair: Pair) {
    this.#pair = pair;
  }

  async add({ hash, size, bytes, zstd }: BlobRead): Promise<void> {
    const { from, to, pause } = this.#pair;
    this.counts.blobs += 1;
    this.counts.blobBytes += size;
    if (bytes === undefined) {
      pause();
      await copyLarge(from, to, hash);
      return;
    }
    this.#waiting.push({ hash, bytes, zstd });
    this.#waitingBytes += size;
    if (this.#waiting.length < BATCH_BLOBS && this.#waitingBytes < BATCH_BYTES) return;
    this.#send();
    if (this.#commits.length >= COMMITS) await this.#commits.shift();
  }

  async flush(): Promise<void> {
    this.#send();
    await Promise.all(this.#commits);
  }

  /** Resolves when nothing is written any more, whether or not it could be written. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#commits);
  }

  #send(): void {
    this.#pair.pause();
    const blobs = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (blobs.length === 0) return;
    const commit = this.#pair.to.commit({ blobs });
    // Its failure is seen when it is awaited.
    commit.catch(() => undefined);
    this.#commits.push(commit);
  }
}

async function copyLarge(from: Engine, to: Engine, hash: Hash): Promise<void> {
  const stored = await to.putBlob({ chunks: from.readBlob(hash) });
  if (stored.hash !== hash) throw lost(hash);
}

/** Copies one blob that a record needs and that was skipped as a chunk; false when there is none. */
export async function copyMissing({ from, to }: Pair, hash: Hash): Promise<boolean> {
  if (!(await from.hasBlob(hash))) return false;
  await copyLarge(from, to, hash);
  return true;
}

/** A blob that is gone needs no name. */
async function copyNames({ from, to, pause }: Pair, names: readonly Sha256Name[]): Promise<void> {
  const isMissing = await mapFew(
    names,
    async ({ sha256, hash }) =>
      (await to.findBySha256(sha256)) === undefined && (await from.hasBlob(hash)),
  );
  const missing = names.filter((_, at) => isMissing[at]);
  for (const slice of groupsOf(missing, PAGE)) {
    pause();
    await to.upkeep.adopt({ sha256Names: slice });
  }
}

function lost(hash: Hash): QuipuError<'NOT_FOUND'> {
  const message = `blob ${hash} went away while the store was copied; stop whoever uses it, and try again`;
  return notFound('blob', hash, message);
}
