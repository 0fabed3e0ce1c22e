import { firstColumn, type Database } from '../../base/sqlite.ts';
import { CountLists, LISTS, withoutGone } from './count-lists.ts';
import type { RowLengths } from '../rank/packed-rows.ts';
import { listing, type PartRow, type Statements } from './text-tables.ts';

// What ranking needs of documents: how long each is, and how often words occur in it. The part that takes documents has
// a row for each, in `fresh`. A sealed part has the lengths of all its documents in one blob, and a list of counts for
// each hash of a word. So a query reads a few dozen rows, wherever its candidates lie.

/** Marks a length: the row goes on with the document of the row before. */
const GOES_ON = 0x8000;
const LENGTH_BYTES = 2;
/** Lengths of so many parts are kept in memory: 128 KB for each. */
const PARTS_KEPT = 32;

export const INSERT_FRESH = 'INSERT INTO fresh (id, piece, words, sketch) VALUES (?, ?, ?, ?)';

interface FreshRow {
  readonly id: number;
  readonly piece: number;
  readonly words: number;
  readonly sketch: Uint8Array;
}

/** Makes lengths and lists of the rows of a part that is full. `next` is the number behind its last document. */
export function sealRanks(db: Database, { id: part, first }: PartRow, next: number): void {
  const lengths = new Uint8Array((next - first) * LENGTH_BYTES);
  const size = db.prepare('SELECT coalesce(sum(length(sketch)), 0) FROM fresh').get();
  const counts = new CountLists(Number(firstColumn(size)));
  const fresh = db.prepare<[], FreshRow>('SELECT id, piece, words, sketch FROM fresh ORDER BY id');
  for (const { id, piece, words, sketch } of fresh.iterate()) {
    const place = id - first;
    const length = piece === 0 ? words : words | GOES_ON;
    lengths[place * LENGTH_BYTES] = length & 0xff;
    lengths[place * LENGTH_BYTES + 1] = length >> 8;
    counts.add(place, sketch);
  }
  db.prepare('INSERT INTO lengths (part, lengths) VALUES (?, ?)').run(part, lengths);
  const insert = db.prepare('INSERT INTO counts (id, list) VALUES (?, ?)');
  for (const [hash, list] of counts.lists()) insert.run(listId(part, hash), list);
  db.exec('DELETE FROM fresh');
}

/** Takes documents that are gone out of the lengths and lists of a sealed part. */
export function pruneRanks(db: Database, { id: part, first }: PartRow): void {
  const row = db.prepare('SELECT lengths FROM lengths WHERE part = ?').get(part);
  const { lengths } = row as { readonly lengths: Uint8Array };
  const last = first + lengths.length / LENGTH_BYTES - 1;
  const there = new Uint8Array(last - first + 1);
  const live = db.prepare<[number, number], { id: number }>(
    'SELECT id FROM docs WHERE id BETWEEN ? AND ?',
  );
  for (const { id } of live.iterate(first, last)) there[id - first] = 1;
  for (const [place, isThere] of there.entries()) {
    if (isThere === 0) lengths.fill(0, place * LENGTH_BYTES, (place + 1) * LENGTH_BYTES);
  }
  db.prepare('UPDATE lengths SET lengths = ? WHERE part = ?').run(lengths, part);
  const update = db.prepare('UPDATE counts SET list = ? WHERE id = ?');
  const remove = db.prepare('DELETE FROM counts WHERE id = ?');
  const select = db.prepare<[number, number], ListRow>(
    'SELECT id, list FROM counts WHERE id BETWEEN ? AND ?',
  );
  for (const { id, list } of select.all(listId(part, 0), listId(part, LISTS - 1))) {
    const left = withoutGone(list, (place) => there[place] === 0);
    // An empty list would say that there was a word with this hash.
    if (left?.length === 0) remove.run(id);
    else if (left !== undefined) update.run(left, id);
  }
}

interface ListRow {
  readonly id: number;
  readonly list: Uint8Array;
}

function listId(part: number, hash: number): number {
  return part * LISTS + hash;
}

/** Lengths of the documents of a sealed part. */
class PartLengths implements RowLengths {
  readonly #first: number;
  readonly #bytes: Uint8Array;

  constructor(first: number, bytes: Uint8Array) {
    this.#first = first;
    this.#bytes = bytes;
  }

  get documents(): number {
    return this.#bytes.length / LENGTH_BYTES;
  }

  wordsOf(id: number): number {
    return this.#at(id) & ~GOES_ON;
  }

  docOf(id: number): number {
    let doc = id;
    while (this.#at(doc) >= GOES_ON) doc -= 1;
    return doc;
  }

  #at(id: number): number {
    const at = (id - this.#first) * LENGTH_BYTES;
    return (this.#bytes[at] ?? 0) | ((this.#bytes[at + 1] ?? 0) << 8);
  }
}

/** Reads what was made of sealed parts. */
export class RankReader {
  readonly #statements: Statements;
  readonly #lengths = new Map<number, PartLengths>();

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** They never change while a query can find a document of the part. */
  lengthsOf({ id: part, first }: PartRow): PartLengths {
    const known = this.#lengths.get(part);
    if (known !== undefined) return known;
    const bytes = this.#statements.value('SELECT lengths FROM lengths WHERE part = ?', part);
    const lengths = new PartLengths(first, bytes as Uint8Array);
    const [oldest] = this.#lengths.keys();
    if (this.#lengths.size >= PARTS_KEPT && oldest !== undefined) this.#lengths.delete(oldest);
    this.#lengths.set(part, lengths);
    return lengths;
  }

  /**
   * The lists of a hash, by part. A part in which no word with the hash occurs twice has none. One statement for all
   * parts takes two fifths of the time of one for each.
   */
  listsOf(hash: number, parts: readonly PartRow[]): ReadonlyMap<number, Uint8Array> {
    const ids = parts.map(({ id }) => listId(id, hash));
    const rows = this.#statements.get(LISTS_OF + listing(ids)).all(...ids) as ListRow[];
    return new Map(rows.map(({ id, list }) => [Math.floor(id / LISTS), list]));
  }
}

const LISTS_OF = 'SELECT id, list FROM counts WHERE id IN ';
