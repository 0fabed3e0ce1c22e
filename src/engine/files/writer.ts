import { QuipuError } from '../../base/errors.ts';
import { encodeFrame } from '../../format/journal-frame.ts';
import { LARGE_BLOB_BYTES } from '../../format/chunker.ts';
import { encodeMark } from '../../format/mark.ts';
import { hashBytes, sha256Hex } from '../../base/hash.ts';
import type { Batch, Change, Committed } from '../batch.ts';
import type { BlobSource, BlobStored, Progress } from '../engine.ts';
import type { IoFile, IoLock } from '../io.ts';
import { BulkPacks } from './blobs/bulk-packs.ts';
import { storeSource } from './blobs/store-large.ts';
import { Checkpointer } from './checkpointer.ts';
import type { Checkpoint } from './checkpoint-file.ts';
import { Committer, type CommitTarget } from './committer.ts';
import type { Core } from './core.ts';
import type { IndexKeeper } from './index-keeper.ts';
import type { Journal, JournalPlace } from './journal.ts';
import { Draft } from './plan/draft.ts';
import { encodeGroup } from './plan/encode-group.ts';
import type { Planned, PreparedBatch } from './plan/planned.ts';
import { type BulkExtent, prepareBlob, type PreparedBlob } from './plan/prepared-blob.ts';

// Everything that writes. One path for all of it: prepare (hash, compress, write large blobs), then a
// group plans, encodes one journal frame, makes it durable, applies it, and becomes visible.

export interface WriterParts {
  readonly core: Core;
  readonly journal: Journal;
  readonly mark: IoFile;
  readonly keeper: IndexKeeper;
  readonly checkpoint: Checkpoint;
  /** The last frame there is: the checkpoint's, or the last one replayed. */
  readonly seq: number;
  readonly lock: IoLock;
  readonly clock: () => number;
  readonly durability: 'safe' | 'unsafe';
  /** A checkpoint at the latest this long after a commit; Infinity: by size alone. */
  readonly checkpointMs: number;
}

export class Writer implements CommitTarget {
  readonly core: Core;
  readonly durability: 'safe' | 'unsafe';
  readonly #parts: WriterParts;
  readonly #committer: Committer;
  readonly #checkpointer: Checkpointer;
  readonly #bulk: BulkPacks;
  readonly #listeners: Set<(change: Change) => void> = new Set();
  #seq: number;
  /** Where the journal goes on after frame `#seq`. */
  #place: JournalPlace;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(parts: WriterParts) {
    const { core, journal, durability } = parts;
    this.core = core;
    this.durability = durability;
    this.#parts = parts;
    this.#seq = parts.seq;
    this.#place = journal.place;
    this.#committer = new Committer(this, parts.seq);
    const applied = () => ({ seq: this.#seq, place: this.#place, tails: core.tails });
    this.#checkpointer = new Checkpointer({ core, journal, durability, applied }, parts.checkpoint);
    const state = { tails: () => core.tails.packs, newPack: core.newPack };
    this.#bulk = new BulkPacks(core.files, state, (error, path) => journal.breakDown(error, path));
  }

  /** The last frame that is visible. */
  get seq(): number {
    return this.#seq;
  }

  async commit(batch: Batch): Promise<Committed> {
    this.#assertAccepting();
    const { blobs = [] } = batch;
    if (!blobs.some((blob) => blob.bytes.length >= LARGE_BLOB_BYTES)) {
      return this.#committer.submit({ ...batch, blobs: blobs.map(prepareBlob), extents: [] });
    }
    const stored: (PreparedBlob | BulkExtent)[] = [];
    const leases: { release(): Promise<void> }[] = [];
    try {
      for (const blob of blobs) {
        if (await this.core.hasBlob(blob.hash)) continue;
        const source = await storeSource(this.#largeStore(), once(blob.bytes), false);
        if (source.kind === 'small') {
          stored.push(prepareBlob(blob));
          continue;
        }
        leases.push(source.lease);
        stored.push({ ...source.list, sha256: blob.sha256 }, source.extent);
      }
      return await this.#committer.submit({ ...batch, ...apart(stored) });
    } finally {
      for (const lease of leases) await lease.release();
    }
  }

  async putBlob({ chunks, sha256: wanted = false }: BlobSource): Promise<BlobStored> {
    this.#assertAccepting();
    const source = await storeSource(this.#largeStore(), chunks, wanted);
    const extra = (sha256: string | undefined) => (sha256 === undefined ? {} : { sha256 });
    if (source.kind === 'small') {
      const { bytes } = source;
      const hash = hashBytes(bytes);
      const said = extra(wanted ? sha256Hex(bytes) : undefined);
      const existed = await this.core.hasBlob(hash);
      await this.commit({ blobs: [{ hash, bytes, ...said }] });
      return { ...(await this.#mustStat(hash)), existed, ...said };
    }
    const { list, extent, lease } = source;
    try {
      const existed = await this.core.hasBlob(list.hash);
      this.#assertAccepting();
      await this.#committer.submit({ blobs: [list], extents: existed ? [] : [extent] });
      return { ...(await this.#mustStat(list.hash)), existed, ...extra(list.sha256) };
    } finally {
      await lease.release();
    }
  }

  subscribe(listener: (change: Change) => void): () => void {
    const own = (change: Change): void => listener(change);
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
    };
  }

  startDraft(): Draft {
    const { nowMs, ...counters } = this.core.startDraft(this.#parts.clock());
    return new Draft(this.core, nowMs, counters);
  }

  async store(draft: Draft): Promise<number> {
    const { core } = this;
    const { journal } = this.#parts;
    if (journal.broken !== undefined) throw journal.broken;
    await core.files.catchUp();
    await this.#checkpointer.begin();
    const seq = this.#seq + 1;
    const group = encodeGroup(draft, core.tails, core.newPack);
    const frame = encodeFrame(seq, group.writes);
    if (journal.mustCheckpoint(frame.length, this.#checkpointer.seq))
      await this.#checkpointer.run();
    await journal.append(seq, frame);
    await core.files.apply(group.writes);
    await this.#leaveMark(seq);
    this.#seq = seq;
    this.#place = journal.place;
    core.absorb(draft, group);
    return seq;
  }

  announce(numbered: readonly { planned: Planned; seq: number }[]): void {
    if (this.#listeners.size > 0) {
      for (const { planned, seq } of numbered) {
        const change = planned.toChange(seq);
        if (change !== undefined) for (const listener of this.#listeners) listener(change);
      }
    }
    this.#parts.keeper.rest();
    this.#scheduleCheckpoint();
  }

  /** True when the index was the problem and has been built again. */
  async mend(error: unknown): Promise<boolean> {
    return this.#parts.keeper.mend(error);
  }

  async checkpoint(): Promise<void> {
    await this.#committer.drain();
    await this.#checkpointer.run();
  }

  async reindex(progress?: Progress): Promise<void> {
    await this.#committer.exclusively(() => this.#parts.keeper.rebuild(progress));
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#committer.drain();
    const { journal, keeper, mark, lock } = this.#parts;
    try {
      // A store that could not sync keeps its journal: the next opening replays it.
      if (journal.broken === undefined && !this.#checkpointer.clean) {
        await this.#checkpointer.run(true);
      }
    } finally {
      keeper.close();
      await mark.close();
      await journal.close();
      await this.core.files.close();
      await lock.release();
    }
  }

  /** Not synced: it can only say too little after a power cut, never too much. */
  async #leaveMark(seq: number): Promise<void> {
    try {
      await this.#parts.mark.write(encodeMark(seq), 0);
    } catch {
      // Without the mark, a damaged last frame passes for a torn one; the commit itself is safe.
    }
  }

  #scheduleCheckpoint(): void {
    const { checkpointMs } = this.#parts;
    // A checkpoint per segment keeps the other segment free without making a commit wait.
    if (this.#place.segment !== this.#checkpointer.place.segment) this.#checkpointSoon();
    else if (checkpointMs !== Infinity && this.#timer === undefined) {
      this.#timer = setTimeout(() => this.#checkpointSoon(), checkpointMs).unref();
    }
  }

  #checkpointSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#closed) return;
    // A failure shows at the next commit, through the journal or when the segment is needed.
    this.#checkpointer.run().catch(() => undefined);
  }

  #largeStore(): Parameters<typeof storeSource>[0] {
    return { hasBlob: (hash) => this.core.hasBlob(hash), lease: () => this.#bulk.lease() };
  }

  async #mustStat(hash: ReturnType<typeof hashBytes>): Promise<BlobStored> {
    const stat = await this.core.blobs.stat(hash);
    if (stat === undefined) throw new Error(`blob ${hash} is gone right after it was stored`);
    return { ...stat, existed: false };
  }

  #assertAccepting(): void {
    if (this.#closed) throw new QuipuError('CLOSED', 'the store is closed', { what: 'store' });
    if (this.#parts.journal.broken !== undefined) throw this.#parts.journal.broken;
  }
}

/** The two lists that a prepared batch keeps large blobs in. */
function apart(
  stored: readonly (PreparedBlob | BulkExtent)[],
): Pick<PreparedBatch, 'blobs' | 'extents'> {
  return {
    blobs: stored.filter((item): item is PreparedBlob => 'hash' in item),
    extents: stored.filter((item): item is BulkExtent => 'chunks' in item),
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
