import * as messages from '@langchain/core/messages';
import type { SerializerProtocol } from '@langchain/langgraph-checkpoint';
import { notFound } from '../base/errors.ts';
import { hashBytes } from '../base/hash.ts';
import { LruCache } from '../base/lru-cache.ts';
import type { NewTurn } from '../context/contexts.ts';
import type { Store } from '../store/store.ts';
import { VALUE } from './langgraph-records.ts';
import type { Change, Piece, Value } from './langgraph-records.ts';

// The values of channels as pieces, and back.

const CACHE_BYTES = 33_554_432;
/** JSON of at most this many bytes stands in the record itself; longer values are blobs of their own. */
const INLINE_BYTES = 256;
/** Elements that are parsed at a time. Their text is kept: to make that of a long list takes longer than to parse it. */
const GROUP = 64;
const MARKS_MAX = 10_000;

/** The new blobs of a record, by their pieces. */
export type Fresh = Map<Piece, NewTurn>;

export class Values {
  readonly #store: Store;
  readonly #saver: { readonly serde: SerializerProtocol };
  readonly #texts = new LruCache<Piece, string>(CACHE_BYTES, ({ length }) => length + 1);
  readonly #marks = new LruCache<Piece, readonly unknown[]>(CACHE_BYTES, sizeOf);
  /** The texts of whole groups, by the array of pieces. A list that grew has those of the list before. */
  readonly #groups = new LruCache<readonly Piece[], readonly string[]>(CACHE_BYTES, sizeOf);

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

  /** Returns what leads from the value before to this one. */
  async change(value: unknown, fresh: Fresh, before?: Value): Promise<Change> {
    if (!Array.isArray(value)) {
      const piece = await this.keep(value, fresh);
      // The turns before have it.
      if (piece === before) fresh.delete(piece);
      return piece;
    }
    // A copy: the caller may go on with the list while an element is stored.
    const items: unknown[] = Array.from<unknown>(value);
    const old = typeof before === 'object' ? before.pieces.slice(0, before.length) : [];
    const shorter = Math.min(old.length, items.length);
    let keep = 0;
    while (keep < shorter && (await this.#isKept(items[keep], old[keep]))) keep += 1;
    let tail = 0;
    while (tail < shorter - keep && (await this.#isKept(items.at(-1 - tail), old.at(-1 - tail))))
      tail += 1;
    const added: Piece[] = [];
    for (const item of items.slice(keep, items.length - tail))
      added.push(await this.#keepItem(item, fresh));
    return [keep, tail, ...added];
  }

  async load(value: Value): Promise<unknown> {
    const { serde } = this.#saver;
    if (typeof value === 'object') {
      const known = this.#groups.get(value.pieces) ?? [];
      const texts: string[] = [];
      const items: unknown[] = [];
      for (let at = 0; at < value.length; at += GROUP) {
        const group = value.pieces.slice(at, Math.min(at + GROUP, value.length));
        const isWhole = group.length === GROUP && texts.length === at / GROUP;
        const text = (isWhole ? known[texts.length] : undefined) ?? this.#textOfAll(group);
        if (isWhole && text !== undefined) texts.push(text);
        const loaded: unknown = await (text === undefined
          ? Promise.all(group.map((piece) => this.load(piece)))
          : serde.loadsTyped('json', text));
        items.push(...(loaded as unknown[]));
      }
      if (texts.length > known.length) this.#groups.set(value.pieces, texts);
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

  async #isKept(item: unknown, piece: Piece = ''): Promise<boolean> {
    const known = this.#marks.get(piece);
    const marks: unknown[] = [];
    const isSame = known !== undefined && addMarks(marks, item) && known.length === marks.length;
    if (isSame && known.every((mark, at) => Object.is(mark, marks[at]))) return true;
    return (await this.#keepItem(item)) === piece;
  }

  async #keepItem(item: unknown, fresh: Fresh = new Map()): Promise<Piece> {
    const marks: unknown[] = [];
    const isTold = addMarks(marks, item);
    const piece = await this.keep(item, fresh);
    if (isTold) this.#marks.set(piece, marks);
    return piece;
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

function toUtf8({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString();
}

/** An object of these is serialised by its own fields alone. Other classes may have private ones. */
const PLAIN = new Set<unknown>([null, Object.prototype, Array.prototype]);
for (const made of Object.values(messages)) if ('prototype' in made) PLAIN.add(made.prototype);

/** Adds what a value consists of. False if that does not tell its serialisation, or is too much: it may be a circle. */
function addMarks(marks: unknown[], value: unknown): boolean {
  if (typeof value !== 'object' || value === null)
    return marks.push(value) > 0 && typeof value !== 'function';
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!PLAIN.has(prototype) || marks.length > MARKS_MAX) return false;
  const fields = value as Record<string, unknown>;
  const keys = Object.keys(fields);
  marks.push(prototype, keys.length, fields['length']);
  return keys.every((key) => marks.push(key) > 0 && addMarks(marks, fields[key]));
}

function sizeOf(list: readonly unknown[]): number {
  const sizes = list.map((item) => (typeof item === 'string' ? item.length + 8 : 8));
  return sizes.reduce((sum, size) => sum + size, 1);
}
