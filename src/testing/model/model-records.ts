import { toTurnId } from '../../base/brand.ts';
import type { Hash, TurnId } from '../../base/brand.ts';
import type {
  DocEntry,
  PatchEntry,
  Records,
  Sha256Name,
  TurnEntry,
} from '../../engine/adoption.ts';
import type { ModelState } from './model-state.ts';

export class ModelRecords implements Records {
  readonly #state: ModelState;

  constructor(state: ModelState) {
    this.#state = state;
  }

  async turns(from: TurnId, limit: number): Promise<readonly TurnEntry[]> {
    const { turns } = this.#state;
    const entries: TurnEntry[] = [];
    for (let id = from; id <= BigInt(turns.size) && entries.length < limit;) {
      const row = this.#state.getTurn(id);
      const key = this.#keyOf(id);
      const known = key === undefined ? {} : { key };
      entries.push(row === undefined ? { id, gone: true, ...known } : { id, row, ...known });
      id = toTurnId(id + 1n);
    }
    return entries;
  }

  #keyOf(turn: TurnId): Uint8Array | undefined {
    for (const [scope, [first]] of this.#state.keys) {
      if (first === turn) return Buffer.from(scope, 'hex');
    }
    return undefined;
  }

  async patches(from: number, limit: number): Promise<readonly PatchEntry[]> {
    const { nextSeq } = this.#state;
    const entries: PatchEntry[] = [];
    for (let seq = from; seq < nextSeq && entries.length < limit; seq += 1) {
      entries.push(this.#patch(seq));
    }
    return entries;
  }

  #patch(seq: number): PatchEntry {
    const { patches, fsRoots, fsRootTimes, collected } = this.#state;
    const patch = patches.get(seq);
    const fsRoot = fsRoots.get(seq);
    const turn = patch?.turn ?? fsRoot?.turn;
    if (turn === undefined || collected.has(turn)) return { seq, gone: true };
    if (patch !== undefined) return { seq, patch };
    if (fsRoot === undefined) return { seq, gone: true };
    const replaced = this.#state.fsRootsOf(turn).at(-1)?.seq !== seq;
    return { seq, fsRoot, createdAt: fsRootTimes.get(seq) ?? 0, replaced };
  }

  async *sha256Names(): AsyncGenerator<readonly Sha256Name[]> {
    yield [...this.#state.sha256].map(([sha256, hash]) => ({ sha256, hash }));
  }

  async *erased(): AsyncGenerator<readonly Hash[]> {
    yield [...this.#state.erased.keys()].filter((hash) => !this.#state.blobs.has(hash));
  }

  async docs(names: readonly string[]): Promise<readonly DocEntry[]> {
    return names.flatMap((name) => {
      const doc = this.#state.docs.get(name);
      return doc === undefined || doc.removed ? [] : [{ row: doc.row, published: doc.published }];
    });
  }
}
