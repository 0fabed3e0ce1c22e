import { NO_TURN } from '../../base/brand.ts';
import type { Hash } from '../../base/brand.ts';
import { QuipuError } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import type { Adoption, Records } from '../../engine/adoption.ts';
import type { Batch, Committed } from '../../engine/batch.ts';
import type {
  BackupReport,
  CheckReport,
  Collection,
  CollectionOptions,
  Reliance,
  LineErasure,
  Problem,
  Upkeep,
} from '../../engine/upkeep.ts';
import { padLine } from '../../engine/json-text.ts';
import { applyAdoption } from './apply-adoption.ts';
import { ModelCollection } from './model-collection.ts';
import { ModelRecords } from './model-records.ts';
import type { ModelState } from './model-state.ts';

/** Upkeep in its simplest form: everything is in memory, and a sweep takes no time. */
export class ModelUpkeep implements Upkeep {
  readonly records: Records;
  readonly #state: ModelState;
  readonly #clock: () => number;
  readonly #assertOpen: (what: string) => void;
  #reliance: Reliance | undefined;

  constructor(state: ModelState, clock: () => number, assertOpen: (what: string) => void) {
    this.#state = state;
    this.records = new ModelRecords(state);
    this.#clock = clock;
    this.#assertOpen = assertOpen;
  }

  async startCollection({ graceMs, reliance }: CollectionOptions): Promise<Collection> {
    this.#assertFree('a collection');
    this.#reliance = reliance;
    const nowMs = Math.max(this.#state.timeMs, this.#clock());
    return new ModelCollection(this.#state, nowMs - graceMs, () => {
      this.#reliance = undefined;
    });
  }

  async check(): Promise<CheckReport> {
    this.#assertFree('a check');
    const { turns, contexts, patches, fsRoots, blobs, docs, logs } = this.#state;
    const bytes = [...blobs.values()].reduce((sum, blob) => sum + blob.length, 0);
    return {
      checked: {
        turns: turns.size,
        contexts: contexts.size,
        patches: patches.size + fsRoots.size,
        blobs: blobs.size,
        docs: docs.size,
        logs: logs.size,
        bytes,
      },
      problems: [...blobs].flatMap(([hash, content]) =>
        hashBytes(content) === hash ? [] : [damaged(hash)],
      ),
      more: 0,
      quarantined: [],
    };
  }

  async eraseBlob(hash: Hash): Promise<void> {
    this.#assertFree('an erasure');
    if (this.#state.blobs.delete(hash)) this.#state.erased.set(hash, true);
  }

  async eraseLines(log: string, erasures: readonly LineErasure[]): Promise<void> {
    this.#assertFree('an erasure');
    const lines = [...(this.#state.logs.get(log) ?? [])];
    for (const { line, text } of erasures) lines[line] = padLine(log, line, lines[line], text);
    if (erasures.length > 0) this.#state.logs.set(log, lines);
  }

  async backup(): Promise<BackupReport> {
    this.#assertFree('a backup');
    throw new QuipuError('UNSUPPORTED', 'the model keeps no files, so there is nothing to copy', {
      what: 'backup',
      found: 'model',
    });
  }

  async adopt(adoption: Adoption): Promise<void> {
    this.#assertFree('an adoption');
    applyAdoption(this.#state, adoption, this.#clock());
  }

  noteBlob(hash: Hash): void {
    this.#reliance?.blob(hash);
  }

  /** Notes everything that a commit relies on, also things that were there before. */
  noteCommit(batch: Batch, committed: Committed): void {
    const reliance = this.#reliance;
    if (reliance === undefined) return;
    for (const { hash } of batch.blobs ?? []) reliance.blob(hash);
    for (const { base } of committed.contexts) if (base !== NO_TURN) reliance.turn(base);
    const { turns, opened, sealed, patches, fsRoots } = committed;
    for (const { id, parent, payload } of [...turns, ...opened, ...sealed]) {
      if (parent !== NO_TURN) reliance.turn(parent);
      if (payload !== undefined) reliance.blob(payload);
      reliance.turn(id);
    }
    for (const { turn, payload } of patches) {
      reliance.turn(turn);
      reliance.blob(payload);
    }
    for (const { turn, root } of fsRoots) {
      reliance.turn(turn);
      reliance.blob(root);
    }
  }

  #assertFree(what: string): void {
    this.#assertOpen(what);
    if (this.#reliance === undefined) return;
    throw new QuipuError(
      'LOCKED',
      `${what} cannot run while a collection runs; wait until it ends`,
      {
        what: 'upkeep',
        owner: 'a collection',
      },
    );
  }
}

function damaged(hash: Hash): Problem {
  const what = 'the bytes are not those that the hash names';
  return { what, file: 'blobs', offset: 0, id: hash, severity: 'lost' };
}
