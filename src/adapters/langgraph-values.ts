import * as messages from '@langchain/core/messages';
import type { SerializerProtocol } from '@langchain/langgraph-checkpoint';
import { notFound } from '../base/errors.ts';
import { hashBytes } from '../base/hash.ts';
import { LruCache } from '../base/lru-cache.ts';
import type { NewTurn } from '../context/contexts.ts';
import type { Store } from '../store/store.ts';

// The values of channels as pieces, and back.

/** A value: `=` and its JSON, or its serialisation, a colon and the hash of its blob. */
export type Piece = string;
/** A list is kept by its elements. */
export type Value = Piece | readonly Piece[];

export const VALUE = 'langgraph.value';

const CACHE_BYTES = 33_554_432;
/** JSON of at most this many bytes stands in the record itself; longer values are blobs of their own. */
const INLINE_BYTES = 256;
/** Elements that are parsed at a time. Their text is kept: to make that of a long list takes longer than to parse it. */
const GROUP = 64;
const MARKS_MAX = 10_000;

/** The new blobs of a record, by their pieces. */
export type Fresh = Map<Piece, NewTurn>;
/** All that the serialisation of an element can depend on, in order. Undefined if that cannot be told. */
type Marks = readonly unknown[] | undefined;

export class Values {
  readonly #store: Store;
  readonly #saver: { readonly serde: SerializerProtocol };
  readonly #texts = new LruCache<Piece, string>(CACHE_BYTES, ({ length }) => length + 1);
  /** The texts of whole groups, by list. A list that grew has those of the list before. */
  readonly #groups = new LruCache<readonly Piece[], readonly string[]>(CACHE_BYTES, lengthOf);
  readonly #marks = new LruCache<readonly Piece[], readonly Marks[]>(CACHE_BYTES, sizeOf);

  constructor(store: Store, saver: { readonly serde: SerializerProtocol }) {
    this.#store = store;
    this.#saver = saver;
  }

  /** Takes the JSON of a value that is stored. */
  remember(hash: string, text: string): void {
    this.#texts.set(`json:${hash}`, text);
  }

  /** Returns the piece for a value. What does not fit into the record is added to `fresh`. */
  async keep(value: unknown, fresh: Fresh, inlineBytes: number = INLINE_BYTES): Promise<Piece> {
    const [type, bytes] = await this.#saver.serde.dumpsTyped(value);
    const isJson = type === 'json';
    if (isJson && bytes.length <= inlineBytes) return `=${toUtf8(bytes)}`;
    const piece = `${type}:${hashBytes(bytes)}`;
    // The encoding for JSON would parse it, and refuse a value of a million numbers. Other bytes may be those of the
    // caller, who may change them.
    const payload = isJson ? toUtf8(bytes) : bytes.slice();
    fresh.set(piece, { type: VALUE, encoding: isJson ? 'text' : 'bytes', payload });
    return piece;
  }

  /** A list is kept by its elements. An element that is in the list before has its piece already. */
  async keepAll(value: unknown, fresh: Fresh, before?: Value): Promise<Value> {
    if (!Array.isArray(value)) return this.keep(value, fresh);
    const old = typeof before === 'object' ? before : [];
    const known = this.#marks.get(old) ?? [];
    const marks = Array.from(value, marksOf);
    const pieces: Piece[] = [];
    for (const [at, mark] of marks.entries()) {
      // Counted from the start, and from the end.
      const places = [at, at + old.length - value.length];
      const piece = old[places.find((place) => isSame(known[place], mark)) ?? -1];
      pieces.push(piece ?? (await this.keep(value[at], fresh)));
    }
    this.#marks.delete(old);
    this.#marks.set(pieces, marks);
    this.#moveGroups(old, pieces);
    return pieces;
  }

  async load(value: Value): Promise<unknown> {
    const { serde } = this.#saver;
    if (typeof value === 'object') {
      const known = this.#groups.get(value) ?? [];
      const texts: string[] = [];
      const items: unknown[] = [];
      for (let at = 0; at < value.length; at += GROUP) {
        const group = value.slice(at, at + GROUP);
        const text = known[at / GROUP] ?? this.#textOfAll(group);
        if (text !== undefined && group.length === GROUP && texts.length === at / GROUP)
          texts.push(text);
        const loaded: unknown = await (text === undefined
          ? Promise.all(group.map((piece) => this.load(piece)))
          : serde.loadsTyped('json', text));
        items.push(...(loaded as unknown[]));
      }
      if (texts.length > known.length) this.#groups.set(value, texts);
      return items;
    }
    const text = this.#textOf(value);
    if (text !== undefined) return serde.loadsTyped('json', text);
    const colon = value.lastIndexOf(':');
    const hash = value.slice(colon + 1);
    const bytes = await this.#store.blobs.get(hash);
    if (bytes === undefined)
      throw notFound('blob', hash, `a value of the checkpoint, blob ${hash}, is gone`);
    const type = value.slice(0, colon);
    if (type === 'json') this.remember(hash, toUtf8(bytes));
    return serde.loadsTyped(type, bytes.slice());
  }

  #textOf(piece: Piece): string | undefined {
    return piece.startsWith('=') ? piece.slice(1) : this.#texts.get(piece);
  }

  /** Returns elements as one list; undefined if the text of one is not in memory. */
  #textOfAll(group: readonly Piece[]): string | undefined {
    const texts = group.map((piece) => this.#textOf(piece));
    return texts.includes(undefined) ? undefined : `[${texts.join(',')}]`;
  }

  #moveGroups(from: readonly Piece[], to: readonly Piece[]): void {
    const texts = this.#groups.get(from);
    if (texts === undefined) return;
    const changed = from.findIndex((piece, at) => piece !== to[at]);
    this.#groups.delete(from);
    this.#groups.set(to, changed === -1 ? texts : texts.slice(0, Math.floor(changed / GROUP)));
  }
}

function toUtf8({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString();
}

/** What these make is serialised by its own fields alone. Other classes may have private ones. */
const PLAIN = new Set<unknown>([null, Object.prototype, Array.prototype, Date.prototype]);
for (const made of Object.values(messages)) if ('prototype' in made) PLAIN.add(made.prototype);

function marksOf(value: unknown): Marks {
  const marks: unknown[] = [];
  return addMarks(value, marks) ? marks : undefined;
}

/** Returns false if marks cannot tell, or if there are too many: an object may contain itself. */
function addMarks(value: unknown, marks: unknown[]): boolean {
  if (typeof value === 'function' || marks.length > MARKS_MAX) return false;
  if (typeof value !== 'object' || value === null) return marks.push(value) > 0;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!PLAIN.has(prototype)) return false;
  const keys = Array.isArray(value) ? undefined : Object.keys(value);
  marks.push(prototype, (keys ?? (value as unknown[])).length);
  if (prototype === Date.prototype) marks.push(Number(value));
  if (keys === undefined) return (value as unknown[]).every((item) => addMarks(item, marks));
  return keys.every(
    (key) => marks.push(key) > 0 && addMarks((value as Record<string, unknown>)[key], marks),
  );
}

function isSame(a: Marks, b: Marks): boolean {
  if (a === undefined || b === undefined || a.length !== b.length) return false;
  return a.every((mark, at) => Object.is(mark, b[at]));
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 1);
}

function sizeOf(list: readonly Marks[]): number {
  let size = 1;
  for (const marks of list)
    for (const mark of marks ?? []) size += typeof mark === 'string' ? mark.length + 8 : 8;
  return size;
}
