import type { Hash, TurnId } from '../base/brand.ts';
import type { Root } from '../engine/roots.ts';
import type { CollectionOptions, PatchEdge, TurnEdge } from '../engine/upkeep.ts';
import { LiveSet, toPrefix } from './live-set.ts';
import type { Prefix } from './live-set.ts';
import { SpareTurns } from './spare-turns.ts';
import { TurnBits } from './turn-bits.ts';

// What is alive, as far as it is known: filled by the mark, and by commits that come meanwhile.
// Invariants
// - Whatever is alive stays so: nothing is ever taken back.
// - When a turn that the scan has passed becomes alive, its payload, its patches, their chunks and its
//   whole chain do too, within the same call. So what is dead is remembered, as far as that takes.
// - A turn that the scan has not reached yet is only marked: the scan does the rest.

export class Marks {
  /** Turns from here on were appended after the collection began. */
  firstNewTurn: number = Infinity;
  readonly #live = new LiveSet();
  readonly #turns = new TurnBits();
  readonly #followed = new LiveSet();
  readonly #spareTurns = new SpareTurns();
  readonly #sparePatches = new Map<number, Prefix[]>();
  readonly #spareChunks = new Map<string, readonly Hash[]>();
  #scannedDownTo = Infinity;
  #heldBack = false;

  /** The ears of a collection: what commits rely on. */
  readonly noted: CollectionOptions['noted'] = {
    blob: (hash) => this.#addPrefix(toPrefix(hash)),
    turn: (turn) => this.#addTurn(Number(turn)),
  };

  isLive(hash: Hash): boolean {
    return this.#heldBack || this.#live.has(hash);
  }

  isLiveTurn(turn: TurnId): boolean {
    const number = Number(turn);
    return this.#heldBack || number >= this.firstNewTurn || this.#turns.has(number);
  }

  /** A root that a commit made after the mark began. */
  addLate(root: Root): void {
    if ('turn' in root) this.noted.turn(root.turn);
    else if ('blob' in root) this.noted.blob(root.blob);
    // What a node refers to cannot be read in time, so from now on nothing goes.
    else if (!this.#followed.has(root.node)) this.#heldBack = true;
  }

  /** True the first time; then what the node refers to must be added. */
  addNode(hash: Hash): boolean {
    this.noted.blob(hash);
    return this.#followed.add(hash);
  }

  /** Call for every turn, newest first, once all roots are in. */
  visitTurn({ id, parent, payload }: TurnEdge): void {
    const turn = Number(id);
    const prefix = toPrefix(payload);
    this.#scannedDownTo = turn;
    if (!this.#turns.has(turn)) {
      this.#spareTurns.add(turn, Number(parent), prefix);
      return;
    }
    this.#addPrefix(prefix);
    this.#turns.add(Number(parent));
  }

  endTurns(): void {
    this.#scannedDownTo = 0;
  }

  visitPatch({ turn, payload }: PatchEdge): void {
    const prefix = toPrefix(payload);
    if (this.isLiveTurn(turn)) {
      this.#addPrefix(prefix);
      return;
    }
    const others = this.#sparePatches.get(Number(turn));
    if (others === undefined) this.#sparePatches.set(Number(turn), [prefix]);
    else others.push(prefix);
  }

  /** `stays`: the list stays whether or not it is alive, and so must its chunks. */
  visitChunks(list: Hash, chunks: readonly Hash[], stays: boolean): void {
    if (stays || this.isLive(list)) for (const chunk of chunks) this.noted.blob(chunk);
    else this.#spareChunks.set(toKey(toPrefix(list)), chunks);
  }

  #addTurn(from: number): void {
    let turn = from;
    while (turn !== 0 && turn < this.firstNewTurn && !this.#turns.has(turn)) {
      this.#turns.add(turn);
      const spare = turn < this.#scannedDownTo ? undefined : this.#spareTurns.find(turn);
      if (spare === undefined) return;
      this.#addPrefix(spare.payload);
      for (const payload of this.#sparePatches.get(turn) ?? []) this.#addPrefix(payload);
      turn = spare.parent;
    }
  }

  #addPrefix(prefix: Prefix): void {
    if (!this.#live.addPrefix(prefix) || this.#spareChunks.size === 0) return;
    for (const chunk of this.#spareChunks.get(toKey(prefix)) ?? []) this.#live.add(chunk);
  }
}

function toKey({ high, low }: Prefix): string {
  return `${high} ${low}`;
}
