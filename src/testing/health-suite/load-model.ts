import type { ContextId, Hash, TurnId } from '../../base/brand.ts';
import { NO_TURN } from '../../base/brand.ts';

interface KnownPatch {
  readonly seq: number;
  readonly payload: Hash;
}

interface KnownTurn {
  readonly parent: TurnId;
  readonly payload: Hash;
  /** Patches in their own order. If two were written through different doors, the later may be acknowledged first. */
  patches: readonly KnownPatch[];
}

/** The content that a store must have, from its acknowledgements. */
export class LoadModel {
  readonly heads: Map<ContextId, TurnId> = new Map();
  readonly turns: Map<TurnId, KnownTurn> = new Map();
  readonly #written: Set<Hash> = new Set();

  addTurn(id: TurnId, parent: TurnId, payload: Hash): void {
    this.turns.set(id, { parent, payload, patches: [] });
    this.#written.add(payload);
  }

  addPatch(turn: TurnId, patch: KnownPatch): void {
    const known = this.turns.get(turn);
    if (known !== undefined) {
      known.patches = [...known.patches, patch].toSorted((a, b) => a.seq - b.seq);
    }
    this.#written.add(patch.payload);
  }

  /** From a turn to its root. */
  chainOf(turn: TurnId): TurnId[] {
    const chain: TurnId[] = [];
    for (let id = turn; id !== NO_TURN; id = this.turns.get(id)?.parent ?? NO_TURN) chain.push(id);
    return chain;
  }

  patchCount(turn: TurnId): number {
    return this.turns.get(turn)?.patches.length ?? 0;
  }

  /** The payloads that reads of the turn may have shown since it had that many patches. */
  shownSince(turn: TurnId, patchCount: number): Hash[] {
    const known = this.turns.get(turn);
    return known === undefined ? [] : payloadsOf(known).slice(patchCount);
  }

  reachable(): Set<TurnId> {
    const found = new Set<TurnId>();
    for (const head of this.heads.values()) {
      for (let id = head; id !== NO_TURN && !found.has(id);) {
        found.add(id);
        id = this.turns.get(id)?.parent ?? NO_TURN;
      }
    }
    return found;
  }

  /** Every payload ever written, and whether something still leads to it. */
  payloads(): Map<Hash, boolean> {
    const all = new Map([...this.#written].map((hash) => [hash, false]));
    for (const id of this.reachable()) {
      const known = this.turns.get(id);
      for (const hash of known === undefined ? [] : payloadsOf(known)) all.set(hash, true);
    }
    return all;
  }
}

function payloadsOf({ payload, patches }: KnownTurn): Hash[] {
  return [payload, ...patches.map((patch) => patch.payload)];
}
