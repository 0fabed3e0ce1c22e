import type { ContextId, TurnId } from '../../base/brand.ts';
import type { Change, Committed, ContextRef, TurnDelta } from '../../engine/batch.ts';
import { invalid } from '../../base/errors.ts';
import type { ContextRow, FsRootRow, PatchRow, TurnRow } from '../../engine/rows.ts';
import type { ModelContext, ModelState } from './model-state.ts';

/**
 * One batch on its way into a state. Changes are made at once, so that later ones see them, and each remembers how to
 * undo itself. The draft also notes the changes of the batch, for its result.
 */
export class Draft {
  readonly state: ModelState;
  readonly nowMs: number;
  readonly seq: number;
  readonly createdContexts: ContextId[] = [];
  readonly saidContexts: Set<ContextId> = new Set();
  readonly movedContexts: Set<ContextId> = new Set();
  readonly moves: ContextId[] = [];
  readonly removedContexts: ContextId[] = [];
  readonly turns: TurnRow[] = [];
  readonly opened: TurnRow[] = [];
  readonly deltas: TurnDelta[] = [];
  readonly sealed: TurnRow[] = [];
  readonly patches: PatchRow[] = [];
  readonly fsRoots: FsRootRow[] = [];
  readonly logs: Set<string> = new Set();
  readonly removedLogs: string[] = [];
  readonly docs: Set<string> = new Set();
  readonly removedDocs: string[] = [];
  readonly #undo: (() => void)[] = [];

  constructor(state: ModelState, nowMs: number) {
    this.state = state;
    this.nowMs = nowMs;
    this.seq = state.seq + 1;
  }

  get changed(): boolean {
    return this.#undo.length > 0;
  }

  set<K, V>(map: Map<K, V>, key: K, value: V): void {
    this.#remember(map, key);
    map.set(key, value);
  }

  delete<K, V>(map: Map<K, V>, key: K): void {
    this.#remember(map, key);
    map.delete(key);
  }

  rollBack(): void {
    for (const undo of this.#undo.toReversed()) undo();
  }

  /** `moved`: the change counts as activity, and brings the context to the top of the listing. */
  updateContext(old: ModelContext, change: Partial<ContextRow>, moved: boolean): void {
    const row = { ...old.row, ...change, ...(moved ? { updatedAt: this.nowMs } : {}) };
    const movedSeq = moved ? this.seq : old.movedSeq;
    this.set(this.state.contexts, row.id, { row, removed: old.removed, movedSeq });
    this.movedContexts.add(row.id);
  }

  resolveContext(ref: ContextRef): ModelContext {
    if (typeof ref === 'bigint') return this.state.mustGetContext(ref);
    const id = this.createdContexts[ref.created];
    if (id === undefined)
      throw invalid('context', `names creation ${ref.created}, which is not in the batch`);
    return this.state.mustGetContext(id);
  }

  nextTurnId(): TurnId {
    return BigInt(this.state.turns.size + 1) as TurnId;
  }

  toCommitted(): Committed {
    const { state } = this;
    return {
      seq: this.changed ? this.seq : state.seq,
      replayed: false,
      contexts: [...this.saidContexts].map((id) => state.getContext(id)).filter(isThere),
      turns: this.turns,
      opened: this.opened,
      sealed: this.sealed,
      patches: this.patches,
      fsRoots: this.fsRoots,
      logs: [...this.logs].map((name) => state.getLog(name)).filter(isThere),
      docs: [...this.docs].map((name) => state.getDoc(name)).filter(isThere),
    };
  }

  toChange(): Change {
    return {
      ...this.toCommitted(),
      heads: [...this.movedContexts].map((id) => this.state.getContext(id)).filter(isThere),
      ...(this.moves.length > 0 && { moves: this.moves }),
      removedContexts: this.removedContexts,
      deltas: this.deltas,
      removedLogs: this.removedLogs,
      removedDocs: this.removedDocs,
    };
  }

  #remember<K, V>(map: Map<K, V>, key: K): void {
    const old = map.get(key);
    this.#undo.push(() => (old === undefined ? map.delete(key) : map.set(key, old)));
  }
}

function isThere<T>(value: T | undefined): value is T {
  return value !== undefined;
}
