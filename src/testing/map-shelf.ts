import type { Hash, KeyHash } from '../base/brand.ts';
import type { TimeRange } from '../engine/engine.ts';
import type { FieldRange, MetaField } from '../engine/context-meta.ts';
import { NO_TOTALS } from '../engine/files/index/shelf.ts';
import type {
  BlobPlace,
  ContextPageQuery,
  ContextPlace,
  Counts,
  Covered,
  DocPlace,
  PlaceRef,
  Positions,
  Shelf,
  ShelfBatch,
  Totals,
} from '../engine/files/index/shelf.ts';

interface Context {
  place: ContextPlace | undefined;
  name: string | undefined;
  kind: string | undefined;
  labels: readonly string[];
  fields: readonly MetaField[];
}

/** The shelf in plain maps: the model of the real one, and cheap to make for rigs that open stores often. */
export class MapShelf implements Shelf {
  readonly #blobs: Map<Hash, readonly BlobPlace[]> = new Map();
  readonly #sha256: Map<string, Hash> = new Map();
  readonly #keys: Map<string, number> = new Map();
  readonly #patches: Map<number, Set<number>> = new Map();
  readonly #contexts: Map<number, Context> = new Map();
  readonly #docs: Map<string, DocPlace> = new Map();
  readonly #logs: Set<string> = new Set();
  readonly #gone: Set<number> = new Set();
  #positions: Positions = {};
  #totals: Totals = NO_TOTALS;

  positions(): Positions {
    return this.#positions;
  }

  totals(): Totals {
    return this.#totals;
  }

  gonePacks(): Iterable<number> {
    return this.#gone;
  }

  merge(): boolean {
    return false;
  }

  apply(batch: ShelfBatch): void {
    for (const place of batch.blobs) if (!this.#gone.has(place.pack)) this.#addBlob(place);
    for (const { sha256, hash } of batch.sha256) this.#sha256.set(sha256, hash);
    for (const { key, turn } of batch.keys) this.#keys.set(key, turn);
    for (const { turn, seq } of batch.patches) {
      this.#patches.set(turn, (this.#patches.get(turn) ?? new Set()).add(seq));
    }
    for (const { id, ...place } of batch.contexts) this.#context(id).place = place;
    for (const { id, ...tags } of batch.contextMeta) {
      Object.assign(this.#context(id), tags);
    }
    for (const { name, offset, length, version, removed } of batch.docs) {
      this.#docs.set(name, { offset, length, version, removed });
    }
    for (const { name, removed } of batch.logs) {
      if (removed) this.#logs.delete(name);
      else this.#logs.add(name);
    }
    for (const pack of batch.gonePacks) {
      this.#gone.add(pack);
      this.forgetBlobs([...this.walkBlobs()].filter((place) => place.pack === pack));
    }
    this.#totals = batch.totals;
    this.#positions = batch.positions;
  }

  findBlob(hash: Hash): BlobPlace | undefined {
    return this.#blobs.get(hash)?.at(-1);
  }

  findSha256(sha256: string): Hash | undefined {
    return this.#sha256.get(sha256);
  }

  findKey(key: KeyHash): number | undefined {
    return this.#keys.get(key);
  }

  patchesOf(turns: readonly number[]): number[] {
    return [...new Set(turns)]
      .flatMap((turn) => [...(this.#patches.get(turn) ?? [])])
      .sort((a, b) => a - b);
  }

  getContext(id: number): ContextPlace | undefined {
    return this.#contexts.get(id)?.place;
  }

  withName(name: string): number[] {
    const named = [...this.#contexts].filter(([, context]) => context.name === name);
    return named.map(([id]) => id).sort((a, b) => b - a);
  }

  countContexts(query: ContextPageQuery): number {
    return this.listContexts({ ...query, limit: Infinity }).length;
  }

  listContexts(query: ContextPageQuery): number[] {
    const { label, kind, namePrefix, fields = [], created, updated, limit, before } = query;
    const rows: { id: number; updatedAt: number }[] = [];
    for (const [id, context] of this.#contexts) {
      if (context.place === undefined || context.place.removed) continue;
      if (label !== undefined && !context.labels.includes(label)) continue;
      if (kind !== undefined && context.kind !== kind) continue;
      if (namePrefix !== undefined && context.name?.startsWith(namePrefix) !== true) continue;
      if (!isWithin(context.place.createdAt, created)) continue;
      if (!isWithin(context.place.updatedAt, updated)) continue;
      if (!fields.every((range) => fits(context.fields, range))) continue;
      rows.push({ id, updatedAt: context.place.updatedAt });
    }
    return rows
      .filter((row) => before === undefined || byRecency(before, row) < 0)
      .sort(byRecency)
      .slice(0, limit)
      .map((row) => row.id);
  }

  findDoc(name: string): DocPlace | undefined {
    return this.#docs.get(name);
  }

  listDocs(prefix: string, limit: number, after = ''): string[] {
    const living = [...this.#docs].filter(([, doc]) => !doc.removed).map(([name]) => name);
    return page(living, prefix, limit, after);
  }

  listLogs(prefix: string, limit: number, after = ''): string[] {
    return page([...this.#logs], prefix, limit, after);
  }

  listBlobs(prefix: string, limit: number, after = ''): Hash[] {
    return page([...this.#blobs.keys()], prefix, limit, after) as Hash[];
  }

  *walkBlobs(): Generator<BlobPlace> {
    for (const places of this.#blobs.values()) yield* places;
  }

  forgetBlobs(places: readonly PlaceRef[], next?: Covered): void {
    this.#totals = next?.totals ?? this.#totals;
    this.#positions = next?.positions ?? this.#positions;
    for (const gone of places) {
      const left = (this.#blobs.get(gone.hash) ?? []).filter((place) => !isSamePlace(place, gone));
      if (left.length > 0) this.#blobs.set(gone.hash, left);
      else this.#blobs.delete(gone.hash);
    }
  }

  counts(): Counts {
    const contexts = [...this.#contexts.values()].filter(({ place }) => place?.removed === false);
    const docs = [...this.#docs].filter(
      ([name, doc]) => !doc.removed && !name.startsWith('contexts/'),
    );
    return { contexts: contexts.length, logs: this.#logs.size, docs: docs.length };
  }

  async sync(): Promise<void> {
    // Nothing outlives the process anyway.
  }

  close(): void {
    // Nothing is held: the maps live as long as the test that uses them.
  }

  #addBlob(place: BlobPlace): void {
    const known = this.#blobs.get(place.hash) ?? [];
    const others = known.filter((other) => !isSamePlace(other, place));
    this.#blobs.set(place.hash, [...others, place]);
  }

  #context(id: number): Context {
    const known = this.#contexts.get(id);
    if (known !== undefined) return known;
    const fresh: Context = {
      place: undefined,
      name: undefined,
      kind: undefined,
      labels: [],
      fields: [],
    };
    this.#contexts.set(id, fresh);
    return fresh;
  }
}

function isWithin(time: number, { since = 0, until = Infinity }: TimeRange = {}): boolean {
  return time >= since && time < until;
}

function fits(fields: readonly MetaField[], { name, from, to, found }: FieldRange): boolean {
  const isThere = fields.some(
    (field) =>
      Buffer.compare(field.name, name) === 0 &&
      Buffer.compare(field.value, from) >= 0 &&
      Buffer.compare(field.value, to) < 0,
  );
  return isThere === found;
}

function isSamePlace(a: PlaceRef, b: PlaceRef): boolean {
  return a.pack === b.pack && a.offset === b.offset;
}

function byRecency(
  a: { id: number; updatedAt: number },
  b: { id: number; updatedAt: number },
): number {
  return b.updatedAt - a.updatedAt || b.id - a.id;
}

function page(names: string[], prefix: string, limit: number, after: string): string[] {
  return names
    .filter((name) => name.startsWith(prefix) && name > after)
    .sort((a, b) => (a < b ? -1 : 1))
    .slice(0, limit);
}
