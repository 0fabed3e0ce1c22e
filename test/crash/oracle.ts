import type { TurnId } from '../../src/base/brand.ts';
import { hashBytes } from '../../src/base/hash.ts';
import type { Batch } from '../../src/engine/batch.ts';
import { ModelEngine } from '../../src/testing/model-engine.ts';
import { ModelState } from '../../src/testing/model/model-state.ts';
import { readText } from './read-text.ts';

/** When stores are opened to be checked: later than anything a workload does. */
export const CHECK_TIME = 1_000_000_000;

/** What recovery may show after a crash: the text of one state for each prefix that may have survived. */
export interface Promised {
  readonly states: readonly string[];
}

// What must be true after a crash, kept beside the engine under test.
// Invariants
// - `#texts[n]` is what a store shows that was opened again after the first n commits, open turns ended.
// - Every commit below `#acked` must survive; those from `#acked` to the end may.
export class Oracle {
  readonly #note: (promised: Promised) => void;
  readonly #texts: string[] = [];
  readonly #models: ModelEngine[];
  #acked = 0;

  private constructor(note: (promised: Promised) => void, clock: () => number) {
    this.#note = note;
    this.#models = [new ModelEngine({ clock })];
  }

  static async create(note: (promised: Promised) => void, clock: () => number): Promise<Oracle> {
    const oracle = new Oracle(note, clock);
    oracle.#texts.push(await textOf(oracle.model));
    return oracle;
  }

  /** The state if everything sent is kept. */
  get model(): ModelEngine {
    const model = this.#models.at(-1);
    if (model === undefined) throw new Error('there is always the empty store');
    return model;
  }

  get promised(): Promised {
    return { states: this.#texts.slice(this.#acked) };
  }

  /** False, and nothing is expected, when the batch breaks one of its own conditions. */
  async send(clock: () => number, batch: Batch): Promise<boolean> {
    const model = new ModelEngine({ clock, state: copyState(this.model.state) });
    try {
      await model.commit(batch);
    } catch {
      return false;
    }
    this.#models.push(model);
    this.#texts.push(await textOf(model));
    this.#tell();
    return true;
  }

  /** The oldest commit in flight was acknowledged. */
  acknowledge(): void {
    this.#acked += 1;
    this.#tell();
  }

  /** The store was opened again and shows `text`: what is not in it is gone, what is in it stays. */
  settle(text: string): void {
    const kept = this.#texts.indexOf(text, this.#acked);
    if (kept === -1) throw new Error(`recovered a state that was never promised: ${text}`);
    this.#texts.length = kept + 1;
    this.#models.length = kept + 1;
    this.#acked = kept;
    this.#tell();
  }

  #tell(): void {
    this.#note(this.promised);
  }
}

/** The batches with which opening a store ends the turns that were left open, in their order. */
export function endingsOf(state: ModelState): Batch[] {
  const names = [...state.openBytes.keys()].map(String).toSorted();
  return names.map((name) => {
    const turn = BigInt(name) as TurnId;
    const bytes = state.openBytes.get(turn) ?? new Uint8Array();
    const payload = hashBytes(bytes);
    const seal = { turn, outcome: 'interrupted', payload, size: bytes.length } as const;
    return { blobs: [{ hash: payload, bytes }], seals: [seal] };
  });
}

async function textOf({ state }: ModelEngine): Promise<string> {
  const opened = new ModelEngine({ clock: () => CHECK_TIME, state: copyState(state) });
  for (const ending of endingsOf(state)) await opened.commit(ending);
  return readText(opened);
}

/** Values in a state are never changed in place, so copies may share them. */
function copyState(state: ModelState): ModelState {
  const copy = new ModelState();
  copyMap(state.blobs, copy.blobs);
  copyMap(state.sha256, copy.sha256);
  copyMap(state.contexts, copy.contexts);
  copyMap(state.turns, copy.turns);
  copyMap(state.openBytes, copy.openBytes);
  copyMap(state.keys, copy.keys);
  copyMap(state.patches, copy.patches);
  copyMap(state.logs, copy.logs);
  copyMap(state.docs, copy.docs);
  copy.seq = state.seq;
  copy.timeMs = state.timeMs;
  return copy;
}

function copyMap<K, V>(from: ReadonlyMap<K, V>, to: Map<K, V>): void {
  for (const [key, value] of from) to.set(key, value);
}
