import { toTurnId } from '../../base/brand.ts';
import type { Hash, TurnId } from '../../base/brand.ts';
import type {
  BlobEntry,
  Collection,
  PatchEdge,
  SweepPlan,
  SweepReport,
  TurnEdge,
} from '../../engine/upkeep.ts';
import type { ModelState } from './model-state.ts';

/** A small page, so that commits come between pages. */
const PAGE_ITEMS = 2;

export class ModelCollection implements Collection {
  readonly firstNewTurn: TurnId;
  readonly openTurns: readonly TurnId[];
  readonly #state: ModelState;
  /** Blobs put after this moment are young. */
  readonly #beforeMs: number;
  /** The blobs that were there when the collection began. No other blob may go. */
  readonly #there: ReadonlySet<Hash>;
  readonly #onEnd: () => void;

  constructor(state: ModelState, beforeMs: number, onEnd: () => void) {
    this.#state = state;
    this.#beforeMs = beforeMs;
    this.#there = new Set(state.blobs.keys());
    this.#onEnd = onEnd;
    this.firstNewTurn = toTurnId(state.turns.size + 1);
    this.openTurns = [...state.openBytes.keys()];
  }

  async *turns(): AsyncGenerator<readonly TurnEdge[]> {
    const edges = [...this.#state.turns.values()].flatMap(({ id, parent, payload }) =>
      id < this.firstNewTurn && payload !== undefined && !this.#state.collected.has(id)
        ? [{ id, parent, payload }]
        : [],
    );
    yield* inPages(edges.toReversed());
  }

  async *patches(): AsyncGenerator<readonly PatchEdge[]> {
    const { patches, fsRoots } = this.#state;
    const roots = new Map([...fsRoots.values()].map((row) => [row.turn, row]));
    const edges = [
      ...[...patches.values()].map((row) => ({ ...row, fsRoot: false })),
      ...[...roots.values()].map(({ turn, root, seq }) => ({
        turn,
        payload: root,
        seq,
        fsRoot: true,
      })),
    ];
    yield* inPages(edges.toSorted((a, b) => b.seq - a.seq));
  }

  async *blobs(): AsyncGenerator<readonly BlobEntry[]> {
    const entries = [...this.#state.blobs].map(([hash, bytes]) => ({
      hash,
      size: bytes.length,
      storedBytes: bytes.length,
      old: this.#isOld(hash),
      chunked: false,
    }));
    yield* inPages(entries);
  }

  async chunksOf(): Promise<readonly Hash[]> {
    return [];
  }

  async sweep(plan: SweepPlan): Promise<SweepReport> {
    await plan.settle?.();
    const { blobs, turns, openBytes, collected } = this.#state;
    let [removedBlobs, freedBytes] = [0, 0];
    for (const [hash, bytes] of blobs) {
      if (!this.#isOld(hash) || plan.isLive(hash)) continue;
      blobs.delete(hash);
      removedBlobs += 1;
      freedBytes += bytes.length;
    }
    for (const id of turns.keys()) {
      if (id < this.firstNewTurn && !openBytes.has(id) && !plan.isLiveTurn(id)) collected.add(id);
    }
    return { removedBlobs, freedBytes, keptDeadBytes: 0, skippedForSpace: 0 };
  }

  async end(): Promise<void> {
    this.#onEnd();
  }

  #isOld(hash: Hash): boolean {
    const putAt = this.#state.blobTimes.get(hash) ?? 0;
    return this.#there.has(hash) && putAt <= this.#beforeMs;
  }
}

async function* inPages<T>(items: readonly T[]): AsyncGenerator<readonly T[]> {
  for (let at = 0; at < items.length; at += PAGE_ITEMS) {
    yield items.slice(at, at + PAGE_ITEMS);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
