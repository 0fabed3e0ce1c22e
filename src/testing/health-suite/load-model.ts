import type { ContextId, Hash, TurnId } from '../../base/brand.ts';
import { NO_TURN } from '../../base/brand.ts';

interface KnownTurn {
  readonly parent: TurnId;
  readonly payload: Hash;
  readonly patches: Hash[];
}

/** What a store must hold, from what it acknowledged. */
export class LoadModel {
  readonly heads: Map<ContextId, TurnId> = new Map();
  readonly turns: Map<TurnId, KnownTurn> = new Map();
  readonly #written: Set<Hash> = new Set();

  addTurn(id: TurnId, parent: TurnId, payload: Hash): void {
    this.turns.set(id, { parent, payload, patches: [] });
    this.#written.add(payload);
  }

  addPatch(turn: TurnId, payload: Hash): void {
    this.turns.get(turn)?.patches.push(payload);
    this.#written.add(payload);
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

  /** What reads of the turn may have shown since it had that many patches. */
  shownSince(turn: TurnId, patchCount: number): Hash[] {
    const known = this.turns.get(turn);
    return known === undefined ? [] : [known.payload, ...known.patches].slice(patchCount);
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
      for (const hash of [...(known?.patches ?? []), ...(known ? [known.payload] : [])]) {
        all.set(hash, true);
      }
    }
    return all;
  }
}
