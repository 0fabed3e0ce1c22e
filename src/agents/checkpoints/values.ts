import { invalid, messageOf, notFound } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import { LruCache } from '../../base/lru-cache.ts';
import { decodeUtf8, encodeUtf8, kindOf } from '../../base/text.ts';
import type { NewTurn } from '../../context/contexts.ts';
import type { Store } from '../../store/store.ts';
import type { CheckpointOptions, ValueCodec } from './checkpoint.ts';
import { isFields } from '../../base/fields.ts';

// The records of a thread (docs/format/checkpoints.md), and the values that they lead to.

/** A value: `=` and its JSON, or its form, a colon and the hash of its blob. */
export type Piece = string;
/** The pieces that stay at the start and at the end of the list before, and those between them. */
type ListChange = readonly [keep: number, tail: number, ...added: Piece[]];
export type Change = Piece | ListChange;

export interface CheckpointRecord {
  readonly id: string;
  readonly parent?: string;
  /** True when nothing is taken over from the checkpoint before. */
  readonly full: boolean;
  /** The details. */
  readonly checkpoint?: Piece;
  readonly metadata?: Piece;
  /** Null for a value that is gone. */
  readonly values: readonly (readonly [name: string, change: Change | null])[];
}

export interface WritesRecord {
  readonly checkpoint: string;
  readonly task: string;
  readonly writes: readonly (readonly [number: number, name: string, value: Change])[];
}

/** False for what another program appended with the type of a checkpoint. */
export function isCheckpoint(payload: unknown): payload is CheckpointRecord {
  return isFields(payload) && typeof payload['id'] === 'string' && areChanges(payload['values'], 1);
}

/** The same for pending writes. */
export function isWrites(payload: unknown): payload is WritesRecord {
  return isFields(payload) && areChanges(payload['writes'], 2);
}

function areChanges(entries: unknown, at: number): boolean {
  const isChange = (change: unknown): boolean =>
    change === null || typeof change === 'string' || Array.isArray(change);
  const hasOne = (entry: unknown): boolean => Array.isArray(entry) && isChange(entry[at]);
  return Array.isArray(entries) && entries.every(hasOne);
}

/** A list is kept by its elements. Pieces from `length` on belong to longer lists, which share the array. */
export interface List {
  readonly pieces: Piece[];
  readonly length: number;
}
export type Value = Piece | List;

/** All values, by name. */
export type State = ReadonlyMap<string, Value>;

/** Returns the values after a checkpoint; undefined when a record that they build on was erased. */
export function stateAfter(
  before: State | undefined,
  { full, values }: Pick<CheckpointRecord, 'full' | 'values'>,
): State | undefined {
  if (!full && before === undefined) return undefined;
  const state = new Map(full ? [] : before);
  for (const [name, change] of values) {
    if (change === null) state.delete(name);
    else state.set(name, changed(change, state.get(name)));
  }
  return state;
}

/** Returns the value after a change. A list that only grows shares its array: all of them together take one. */
export function changed(change: Change, before?: Value): Value {
  if (typeof change === 'string') return change;
  const [keep, tail, ...added] = change;
  const old = typeof before === 'object' ? before : { pieces: [], length: 0 };
  const rest = old.pieces.slice(old.length - tail, old.length);
  const pieces = keep === old.pieces.length ? old.pieces : old.pieces.slice(0, keep);
  // One by one: the arguments of a call have a bound, and a list may be longer.
  for (const piece of added) pieces.push(piece);
  for (const piece of rest) pieces.push(piece);
  return { pieces, length: pieces.length };
}

// Values as pieces, and back.
// Invariants
// - Values are equal if their pieces are: a piece is the encoded value, or its hash.
// - The caches hold what follows from a piece alone. Whatever is missing there is read or encoded again.

const CACHE_BYTES = 33_554_432;
/** JSON of at most this many bytes stands in the record itself; longer values are blobs of their own. */
const INLINE_BYTES = 256;
/** Elements that are parsed at a time. Their text is kept: to make that of a long list takes longer than to parse it. */
const GROUP = 64;
const MARKS_MAX = 10_000;

const JSON_CODEC: ValueCodec = {
  encode(value) {
    if (value instanceof Uint8Array) return ['bytes', value];
    try {
      const text = JSON.stringify(value) as string | undefined;
      if (text !== undefined) return ['json', encodeUtf8(text)];
      throw new TypeError(`got ${kindOf(value)}`);
    } catch (cause) {
      throw invalid('a value of a checkpoint', `has no JSON, pass a codec: ${messageOf(cause)}`);
    }
  },
  decode: (_, bytes) => (typeof bytes === 'string' ? (JSON.parse(bytes) as unknown) : bytes),
};

/** The new blobs of a record, by their pieces. */
export type Fresh = Map<Piece, NewTurn>;

export class Values {
  readonly kind: string;
  readonly #store: Store;
  readonly #codec: ValueCodec;
  /** An object of these is encoded by its own fields alone. Other classes may have private ones. */
  readonly #plain: ReadonlySet<unknown>;
  readonly #texts = new LruCache<Piece, string>(CACHE_BYTES, ({ length }) => length + 1);
  /** What encoded elements consist of. */
  readonly #marks = new LruCache<Piece, readonly unknown[]>(CACHE_BYTES, sizeOf);
  /** The texts of whole groups, by the array of pieces. A list that grew has those of the list before. */
  readonly #groups = new LruCache<readonly Piece[], readonly string[]>(CACHE_BYTES, sizeOf);

  constructor(store: Store, { kind = 'agent', codec = JSON_CODEC }: CheckpointOptions) {
    this.kind = kind;
    this.#store = store;
    this.#codec = codec;
    this.#plain = new Set([null, Object.prototype, Array.prototype, ...(codec.plain ?? [])]);
  }

  /** Takes the JSON of a value that is stored. */
  remember(hash: string, text: string): void {
    this.#texts.set(`json:${hash}`, text);
  }

  /** Returns the piece for a value. What does not fit into the record is added to `fresh`. */
  async keep(value: unknown, fresh: Fresh, inlineBytes: number = INLINE_BYTES): Promise<Piece> {
    const [form, bytes] = await this.#codec.encode(value);
    const isJson = form === 'json';
    if (isJson && bytes.length <= inlineBytes) return `=${decodeUtf8(bytes)}`;
    const piece = `${form}:${hashBytes(bytes)}`;
    // The encoding for JSON would parse it, and refuse a value of a million numbers. Other bytes may be those of the
    // caller, who may change them.
    const payload = isJson ? decodeUtf8(bytes) : bytes.slice();
    fresh.set(piece, { type: `${this.kind}.value`, encoding: isJson ? 'text' : 'bytes', payload });
    return piece;
  }

  /** Returns what leads from the value before to this one; undefined if they are equal. */
  async change(value: unknown, fresh: Fresh, before?: Value): Promise<Change | undefined> {
    if (!Array.isArray(value)) {
      const piece = await this.keep(value, fresh);
      if (piece !== before) return piece;
      // The turns before have it.
      fresh.delete(piece);
      return undefined;
    }
    // A copy: the caller may go on with the list while an element is stored.
    const items: unknown[] = Array.from<unknown>(value);
    const old = typeof before === 'object' ? before.pieces.slice(0, before.length) : [];
    const shorter = Math.min(old.length, items.length);
    let keep = 0;
    while (keep < shorter && (await this.#isKept(items[keep], old[keep]))) keep += 1;
    const isSame = keep === old.length && keep === items.length;
    if (isSame && typeof before === 'object') return undefined;
    let tail = 0;
    while (tail < shorter - keep && (await this.#isKept(items.at(-1 - tail), old.at(-1 - tail))))
      tail += 1;
    const added: Piece[] = [];
    for (const item of items.slice(keep, items.length - tail))
      added.push(await this.#keepItem(item, fresh));
    return [keep, tail, ...added];
  }

  async load(value: Value): Promise<unknown> {
    if (typeof value === 'object') return this.#loadList(value.pieces, value.length);
    const text = this.#textOf(value);
    if (text !== undefined) return this.#codec.decode('json', text);
    const colon = value.lastIndexOf(':');
    const hash = value.slice(colon + 1);
    const bytes = await this.#store.blobs.get(hash);
    if (bytes === undefined)
      throw notFound('blob', hash, `a value of the checkpoint, blob ${hash}, is gone`);
    const form = value.slice(0, colon);
    if (form !== 'json') return this.#codec.decode(form, bytes.slice());
    this.remember(hash, decodeUtf8(bytes));
    return this.#codec.decode(form, decodeUtf8(bytes));
  }

  async #loadList(pieces: readonly Piece[], length: number): Promise<unknown[]> {
    const known = this.#groups.get(pieces) ?? [];
    const texts: string[] = [];
    const items: unknown[] = [];
    for (let at = 0; at < length; at += GROUP) {
      const group = pieces.slice(at, Math.min(at + GROUP, length));
      const isWhole = group.length === GROUP && texts.length === at / GROUP;
      const text = (isWhole ? known[texts.length] : undefined) ?? this.#textOfAll(group);
      if (isWhole && text !== undefined) texts.push(text);
      const loaded: unknown = await (text === undefined
        ? Promise.all(group.map((piece) => this.load(piece)))
        : this.#codec.decode('json', text));
      items.push(...(loaded as unknown[]));
    }
    if (texts.length > known.length) this.#groups.set(pieces, texts);
    return items;
  }

  /** True if an element is that of the piece. The marks tell this sooner than its bytes. */
  async #isKept(item: unknown, piece: Piece = ''): Promise<boolean> {
    const known = this.#marks.get(piece);
    const marks = known && this.#marksOf(item);
    const isSame =
      marks?.length === known?.length && marks?.every((each, at) => Object.is(each, known?.[at]));
    return isSame === true || (await this.#keepItem(item, new Map())) === piece;
  }

  async #keepItem(item: unknown, fresh: Fresh): Promise<Piece> {
    const marks = this.#marksOf(item);
    const piece = await this.keep(item, fresh);
    if (marks !== undefined) this.#marks.set(piece, marks);
    return piece;
  }

  /** Returns what a value consists of; undefined if that does not tell its bytes, or is too much: it may be a circle. */
  #marksOf(item: unknown): unknown[] | undefined {
    const marks: unknown[] = [];
    const add = (value: unknown): boolean => {
      if (typeof value !== 'object' || value === null)
        return marks.push(value) > 0 && typeof value !== 'function';
      const prototype: unknown = Object.getPrototypeOf(value);
      if (!this.#plain.has(prototype) || marks.length > MARKS_MAX) return false;
      const fields = value as Record<string, unknown>;
      const keys = Object.keys(fields);
      marks.push(prototype, keys.length, fields['length']);
      return keys.every((key) => marks.push(key) > 0 && add(fields[key]));
    };
    return add(item) ? marks : undefined;
  }

  #textOf(piece: Piece): string | undefined {
    return piece.startsWith('=') ? piece.slice(1) : this.#texts.get(piece);
  }

  /** Returns elements as one list; undefined if the text of one is not in memory. */
  #textOfAll(group: readonly Piece[]): string | undefined {
    const texts = group.map((piece) => this.#textOf(piece));
    return texts.includes(undefined) ? undefined : `[${texts.join(',')}]`;
  }
}

function sizeOf(list: readonly unknown[]): number {
  const sizes = list.map((item) => (typeof item === 'string' ? item.length + 8 : 8));
  return sizes.reduce((sum, size) => sum + size, 1);
}
