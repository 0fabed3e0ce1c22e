import type { ContextId } from '../../base/brand.ts';
import type { HeadRecord } from '../../format/head-record.ts';
import type { Change, Committed, TurnDelta } from '../batch.ts';
import type {
  ContextMeta,
  ContextRow,
  DocRow,
  FsRootRow,
  HeadRow,
  LogRow,
  PatchRow,
  TurnRow,
} from '../rows.ts';

/** The result that a batch will have once its group is durable. */
export interface Planned {
  /** False when everything in the batch was true before: then nothing needs to be stored. */
  readonly changed: boolean;
  toCommitted(seq: number): Committed;
  /** Undefined when there is no news for listeners. */
  toChange(seq: number): Change | undefined;
}

/** Collects the results of one batch, in the order of the batch. Most batches need few of these maps. */
export class Report implements Planned {
  /** True when something new is stored, even if there is no news for listeners. */
  changed = false;
  readonly created: ContextId[] = [];
  /** Created and described contexts, each once. */
  #said: Map<ContextId, ContextMeta> | undefined;
  #heads: Map<ContextId, HeadRecord> | undefined;
  /** The turns that are new. */
  readonly turns: TurnRow[] = [];
  #answered: readonly TurnRow[] | undefined;
  readonly opened: TurnRow[] = [];
  readonly sealed: TurnRow[] = [];
  readonly deltas: TurnDelta[] = [];
  readonly patches: PatchRow[] = [];
  readonly fsRoots: FsRootRow[] = [];
  #logs: Map<string, LogRow> | undefined;
  #docs: Map<string, DocRow> | undefined;
  readonly moves: ContextId[] = [];
  readonly removedContexts: ContextId[] = [];
  readonly removedLogs: string[] = [];
  readonly removedDocs: string[] = [];

  get said(): Map<ContextId, ContextMeta> {
    return (this.#said ??= new Map());
  }

  get heads(): Map<ContextId, HeadRecord> {
    return (this.#heads ??= new Map());
  }

  get logs(): Map<string, LogRow> {
    return (this.#logs ??= new Map());
  }

  get docs(): Map<string, DocRow> {
    return (this.#docs ??= new Map());
  }

  moved(head: HeadRecord): void {
    this.heads.set(head.id, head);
  }

  /** The turns to answer with, where some of them were there before. */
  answerTurns(turns: readonly TurnRow[]): void {
    this.#answered = turns;
  }

  toCommitted(seq: number): Committed {
    return {
      seq,
      replayed: false,
      contexts: this.#contexts(),
      turns: this.#answered ?? this.turns,
      opened: this.opened,
      sealed: this.sealed,
      patches: this.patches,
      fsRoots: this.fsRoots,
      logs: listOf(this.#logs),
      docs: listOf(this.#docs),
    };
  }

  /** Field by field, as above: adding fields to an object that is there took four times as long. */
  toChange(seq: number): Change | undefined {
    if (!this.changed) return undefined;
    return {
      seq,
      replayed: false,
      contexts: this.#contexts(),
      turns: this.turns,
      opened: this.opened,
      sealed: this.sealed,
      patches: this.patches,
      fsRoots: this.fsRoots,
      logs: listOf(this.#logs),
      docs: listOf(this.#docs),
      heads: listOf(this.#heads).map(toHeadRow),
      deltas: this.deltas,
      ...(this.moves.length > 0 && { moves: this.moves }),
      removedContexts: this.removedContexts,
      removedLogs: this.removedLogs,
      removedDocs: this.removedDocs,
    };
  }

  #contexts(): ContextRow[] {
    if (this.#said === undefined) return [];
    return [...this.#said].flatMap(([id, meta]) => this.#toContext(id, meta));
  }

  /** A context that the same batch removed again is not reported. */
  #toContext(id: ContextId, meta: ContextMeta): ContextRow[] {
    const head = this.heads.get(id);
    return head === undefined ? [] : [{ ...toHeadRow(head), meta }];
  }
}

function listOf<T>(map: Map<unknown, T> | undefined): T[] {
  return map === undefined ? [] : [...map.values()];
}

export function toHeadRow(record: HeadRecord): HeadRow {
  const { id, head, headDepth, base, openTurn, createdAt, updatedAt } = record;
  return { id, head, headDepth, base, openTurn, createdAt, updatedAt };
}

/** The listeners that hear of every commit. */
export class ChangeListeners {
  readonly #listeners: Set<(change: Change) => void> = new Set();

  get some(): boolean {
    return this.#listeners.size > 0;
  }

  /** Call the result to stop listening. One function may listen several times. */
  add(listener: (change: Change) => void): () => void {
    const own = (change: Change): void => listener(change);
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
    };
  }

  clear(): void {
    this.#listeners.clear();
  }

  tell(change: Change): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        // A listener that throws must not stop the commits behind it. Its error stays with the listener.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
