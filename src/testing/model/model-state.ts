import type { ContextId, Hash, TurnId } from '../../base/brand.ts';
import { QuipuError } from '../../base/errors.ts';
import type {
  ContextRow,
  DocRow,
  FsRootRow,
  LogRow,
  PatchRow,
  TurnRow,
} from '../../engine/rows.ts';

export interface ModelContext {
  readonly row: ContextRow;
  readonly removed: boolean;
  /** The number of the commit that last changed `updatedAt`. With it a listing finds contexts that moved meanwhile. */
  readonly movedSeq: number;
}

export interface ModelDoc {
  readonly row: DocRow;
  readonly removed: boolean;
  readonly published: boolean;
}

/**
 * Everything that a store holds, in its plainest form. Values are never changed in place, so a row that was returned
 * once stays as it was. Turns, contexts, patches and file-system roots only ever join, so their next number is one more
 * than their count; the last two share a sequence.
 */
export class ModelState {
  readonly blobs: Map<Hash, Uint8Array> = new Map();
  /** The time at which each blob was last put. */
  readonly blobTimes: Map<Hash, number> = new Map();
  readonly sha256: Map<string, Hash> = new Map();
  readonly contexts: Map<ContextId, ModelContext> = new Map();
  readonly turns: Map<TurnId, TurnRow> = new Map();
  /** Turns that are gone for readers. Their rows stay, because they count the ids. */
  readonly collected: Set<TurnId> = new Set();
  readonly openBytes: Map<TurnId, Uint8Array> = new Map();
  /** The hash of (context, key) as hex, and the turns made with it. */
  readonly keys: Map<string, readonly TurnId[]> = new Map();
  readonly patches: Map<number, PatchRow> = new Map();
  readonly fsRoots: Map<number, FsRootRow> = new Map();
  readonly fsRootTimes: Map<number, number> = new Map();
  /** Numbers of patches and file-system roots that were gone before the store was copied. */
  readonly goneSeqs: Map<number, true> = new Map();
  readonly erased: Map<Hash, true> = new Map();
  readonly logs: Map<string, readonly string[]> = new Map();
  readonly docs: Map<string, ModelDoc> = new Map();
  seq = 0;
  timeMs = 0;

  getContext(id: ContextId): ContextRow | undefined {
    const context = this.contexts.get(id);
    return context === undefined || context.removed ? undefined : context.row;
  }

  findContext(name: string): ContextRow | undefined {
    for (const { row, removed } of this.contexts.values()) {
      if (!removed && row.meta.name === name) return row;
    }
    return undefined;
  }

  getLog(name: string): LogRow | undefined {
    const lines = this.logs.get(name);
    if (lines === undefined) return undefined;
    const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
    return { name, lines: lines.length, bytes };
  }

  getDoc(name: string): DocRow | undefined {
    const doc = this.docs.get(name);
    return doc === undefined || doc.removed ? undefined : doc.row;
  }

  /** The number of the next patch or file-system root. */
  get nextSeq(): number {
    return this.patches.size + this.fsRoots.size + this.goneSeqs.size + 1;
  }

  /** The file-system roots that a turn was given, oldest first. */
  fsRootsOf(turn: TurnId): FsRootRow[] {
    return [...this.fsRoots.values()].filter((row) => row.turn === turn);
  }

  /** The patches on a turn, oldest first. */
  patchesOn(turn: TurnId): PatchRow[] {
    return [...this.patches.values()].filter((patch) => patch.turn === turn);
  }

  mustGetContext(id: ContextId): ModelContext {
    const context = this.contexts.get(id);
    if (context !== undefined && !context.removed) return context;
    throw new QuipuError('NOT_FOUND', `there is no context ${id}`, {
      what: 'context',
      id: String(id),
    });
  }

  getTurn(id: TurnId): TurnRow | undefined {
    return this.collected.has(id) ? undefined : this.turns.get(id);
  }

  mustGetTurn(id: TurnId): TurnRow {
    const turn = this.getTurn(id);
    if (turn !== undefined) return turn;
    throw new QuipuError('NOT_FOUND', `there is no turn ${id}`, { what: 'turn', id: String(id) });
  }

  mustGetSealedTurn(id: TurnId): TurnRow {
    const turn = this.mustGetTurn(id);
    if (!this.openBytes.has(id)) return turn;
    throw new QuipuError('NOT_FOUND', `turn ${id} is not sealed yet`, {
      what: 'turn',
      id: String(id),
    });
  }

  hasBlob(hash: Hash): boolean {
    return this.blobs.has(hash);
  }

  assertBlob(hash: Hash): void {
    if (this.blobs.has(hash)) return;
    throw new QuipuError('NOT_FOUND', `there is no blob ${hash}`, { what: 'blob', id: hash });
  }
}
