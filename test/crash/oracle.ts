import type { TurnId } from '../../src/base/brand.ts';
import type { Batch } from '../../src/engine/batch.ts';
import { ModelEngine } from '../../src/testing/model-engine.ts';
import { applyBatch } from '../../src/testing/model/apply-batch.ts';
import { ModelState } from '../../src/testing/model/model-state.ts';
import { describeDifference } from './describe-difference.ts';
import { readText } from './read-text.ts';

/** When stores are opened to be checked: later than anything a workload does. */
export const CHECK_TIME = 1_000_000_000;

/** What may be found after a crash: one text, as `readText` gives it, for each state that is right. */
export type Promised = readonly string[];

interface Candidate {
  readonly state: ModelState;
  /** What a store in this state shows once it is opened, and turns left open are ended. */
  readonly text: string;
}

// What must be true after a crash, kept beside the engine under test.
// Invariant: `#candidates` are the states that a crash may leave now, oldest first. The first holds all
// that was acknowledged, the last all that was sent, and each one a commit more than the one before.
export class Oracle {
  readonly #note: (promised: Promised) => void;
  readonly #clock: () => number;
  #candidates: readonly Candidate[];

  private constructor(note: (promised: Promised) => void, clock: () => number, empty: Candidate) {
    this.#note = note;
    this.#clock = clock;
    this.#candidates = [empty];
  }

  static async create(note: (promised: Promised) => void, clock: () => number): Promise<Oracle> {
    const oracle = new Oracle(note, clock, await toCandidate(new ModelState()));
    oracle.#tell();
    return oracle;
  }

  /** The state if all that was sent is kept. */
  get newest(): ModelState {
    return this.#newest.state;
  }

  get promised(): Promised {
    return this.#candidates.map(({ text }) => text);
  }

  /** False, and nothing is expected, when the batch breaks one of its own conditions. */
  async send(batch: Batch): Promise<boolean> {
    const next = await this.#after(this.#newest, batch).catch(() => undefined);
    if (next === undefined) return false;
    this.#candidates = [...this.#candidates, next];
    this.#tell();
    return true;
  }

  /** The oldest commit in flight was acknowledged. */
  acknowledge(): void {
    this.#candidates = this.#candidates.slice(1);
    this.#tell();
  }

  /** The newest commit was refused, and will never be there. */
  takeBack(): void {
    this.#candidates = this.#candidates.slice(0, -1);
    this.#tell();
  }

  /** What reads show while the store is open: all that was acknowledged, open turns still open. */
  async readShown(): Promise<string> {
    const [oldest] = this.#candidates;
    const shown = new ModelEngine();
    if (oldest !== undefined) copyInto(oldest.state, shown.state);
    return readText(shown);
  }

  /** The store is being opened again: turns that were left open end now, one after the other. */
  async beginOpening(): Promise<void> {
    const reachable = new Map<string, Candidate>();
    for (const start of this.#candidates) {
      let candidate = start;
      reachable.set(candidate.text, candidate);
      for (const ending of endingsOf(start.state)) {
        candidate = await this.#after(candidate, ending);
        reachable.set(candidate.text, candidate);
      }
    }
    this.#candidates = [...reachable.values()];
    this.#tell();
  }

  /** Whether a store that could be opened, and had no room to end its open turns, may show this. */
  async mayShowOpen(text: string): Promise<boolean> {
    for (const { state } of this.#candidates) {
      const shown = new ModelEngine();
      copyInto(state, shown.state);
      if ((await readText(shown)) === text) return true;
    }
    return false;
  }

  /** The store is open and shows `text`: from now on that is what must survive. */
  settle(text: string): void {
    const found = this.#candidates.find((candidate) => candidate.text === text);
    if (found === undefined) throw new Error(describeDifference(text, this.promised));
    this.#candidates = [found];
    this.#tell();
  }

  get #newest(): Candidate {
    const newest = this.#candidates.at(-1);
    if (newest === undefined) throw new Error('more was acknowledged than sent');
    return newest;
  }

  async #after({ state }: Candidate, batch: Batch): Promise<Candidate> {
    const next = copyState(state);
    applyBatch(next, batch, this.#clock());
    return toCandidate(next);
  }

  #tell(): void {
    this.#note(this.promised);
  }
}

async function toCandidate(state: ModelState): Promise<Candidate> {
  // A model that is given a state opens it, and ends the turns that it finds open.
  const opened = new ModelEngine({ clock: () => CHECK_TIME, state: copyState(state) });
  return { state, text: await readText(opened) };
}

/** What opening a store commits for turns that were left open, in the order of their files. */
function endingsOf(state: ModelState): Batch[] {
  const names = [...state.openBytes.keys()].map(String).toSorted();
  return names.map((name) => ({
    seals: [{ turn: BigInt(name) as TurnId, outcome: 'interrupted' }],
  }));
}

function copyState(state: ModelState): ModelState {
  const copy = new ModelState();
  copyInto(state, copy);
  return copy;
}

/** Values in a state are never changed in place, so copies may share them. */
function copyInto(state: ModelState, copy: ModelState): void {
  copyMap(state.blobs, copy.blobs);
  copyMap(state.sha256, copy.sha256);
  copyMap(state.contexts, copy.contexts);
  copyMap(state.turns, copy.turns);
  copyMap(state.openBytes, copy.openBytes);
  copyMap(state.keys, copy.keys);
  copyMap(state.patches, copy.patches);
  copyMap(state.fsRoots, copy.fsRoots);
  copyMap(state.logs, copy.logs);
  copyMap(state.docs, copy.docs);
  copy.seq = state.seq;
  copy.timeMs = state.timeMs;
}

function copyMap<K, V>(from: ReadonlyMap<K, V>, to: Map<K, V>): void {
  for (const [key, value] of from) to.set(key, value);
}
