import type { Hash, KeyHash } from '../../../base/brand.ts';
import type { BlobPlace, ContextPlace, DocPlace, Positions, ShelfBatch, Totals } from './shelf.ts';

export interface ContextTags {
  readonly kind: string | undefined;
  readonly labels: readonly string[];
}

/** Entries that are not on the shelf yet. The same lookups find them. */
export class Memtable {
  readonly sha256: Map<string, Hash> = new Map();
  readonly keys: Map<KeyHash, number> = new Map();
  readonly patches: Map<number, number[]> = new Map();
  readonly contexts: Map<number, ContextPlace> = new Map();
  readonly contextTags: Map<number, ContextTags> = new Map();
  readonly docs: Map<string, DocPlace> = new Map();
  /** Whether the log of that name is removed. */
  readonly logs: Map<string, boolean> = new Map();
  readonly gonePacks: Set<number> = new Set();
  readonly #blobs: Map<Hash, BlobPlace> = new Map();
  /** All places, including older places of a blob that got another one later. */
  readonly #places: BlobPlace[] = [];

  get size(): number {
    return (
      this.#places.length +
      this.sha256.size +
      this.keys.size +
      this.patches.size +
      this.contexts.size +
      this.contextTags.size +
      this.docs.size +
      this.logs.size +
      this.gonePacks.size
    );
  }

  addBlob(place: BlobPlace): void {
    this.#blobs.set(place.hash, place);
    this.#places.push(place);
  }

  findBlob(hash: Hash): BlobPlace | undefined {
    const place = this.#blobs.get(hash);
    return place === undefined || this.gonePacks.has(place.pack) ? undefined : place;
  }

  addPatch(turn: number, seq: number): void {
    const known = this.patches.get(turn);
    if (known === undefined) this.patches.set(turn, [seq]);
    else if (!known.includes(seq)) known.push(seq);
  }

  toBatch(totals: Totals, positions: Positions): ShelfBatch {
    return {
      blobs: this.#places,
      sha256: [...this.sha256].map(([sha256, hash]) => ({ sha256, hash })),
      keys: [...this.keys].map(([key, turn]) => ({ key, turn })),
      patches: [...this.patches].flatMap(([turn, seqs]) => seqs.map((seq) => ({ turn, seq }))),
      contexts: [...this.contexts].map(([id, place]) => ({ id, ...place })),
      contextMeta: [...this.contextTags].map(([id, tags]) => ({ id, ...tags })),
      docs: [...this.docs].map(([name, place]) => ({ name, ...place })),
      logs: [...this.logs].map(([name, removed]) => ({ name, removed })),
      gonePacks: [...this.gonePacks],
      totals,
      positions,
    };
  }
}
