import { Database } from '../src/base/sqlite.ts';
import { CACHE_KIB } from '../src/search/files/text-tables.ts';

// What one would write without Quipu: a contentless FTS5 table beside a table of texts, and a query that is bounded in
// the same way: the newest matches, of which the best by BM25 are shown. Its page cache is as large as Quipu's: with the
// default of 16 MB the same few queries, asked again and again, read no file, and take half the time.

const SHOWN = 20;
const BATCH = 2048;

export class BareFts5 {
  readonly #db: Database;
  /** Time in the inserts of the index alone. */
  insertMs = 0;

  constructor(path: string) {
    this.#db = new Database(path);
    this.#db.pragma('journal_mode = WAL');
    this.#db.pragma('synchronous = NORMAL');
    this.#db.pragma(`cache_size = -${CACHE_KIB}`);
    this.#db
      .exec(`CREATE VIRTUAL TABLE IF NOT EXISTS bare USING fts5(text, content = '', tokenize = 'unicode61');
      CREATE TABLE IF NOT EXISTS texts (id INTEGER PRIMARY KEY, text TEXT NOT NULL);`);
  }

  /** `texts` come with what FTS5 is to index of each. */
  fill(texts: Iterable<{ readonly text: string; readonly indexed: string }>): void {
    let batch: { readonly text: string; readonly indexed: string }[] = [];
    let id = 0;
    const write = (): void => {
      const keep = this.#db.prepare('INSERT INTO texts (id, text) VALUES (?, ?)');
      const index = this.#db.prepare('INSERT INTO bare (rowid, text) VALUES (?, ?)');
      this.#db.transaction(() => {
        for (const [at, { text }] of batch.entries()) keep.run(id + at + 1, text);
      }, 'immediate');
      const began = performance.now();
      this.#db.transaction(() => {
        for (const [at, { indexed }] of batch.entries()) index.run(id + at + 1, indexed);
      }, 'immediate');
      this.insertMs += performance.now() - began;
      id += batch.length;
      batch = [];
    };
    for (const one of texts) {
      batch.push(one);
      if (batch.length >= BATCH) write();
    }
    if (batch.length > 0) write();
  }

  /** The first page of the newest `candidates`, as a program would show it. */
  firstPage(match: string, word: string, candidates: number): readonly string[] {
    const best = this.#db
      .prepare(
        `SELECT id FROM (SELECT rowid AS id, bm25(bare) AS score FROM bare WHERE bare MATCH ?
         ORDER BY rowid DESC LIMIT ?) ORDER BY score, id DESC LIMIT ${SHOWN}`,
      )
      .all(match, candidates) as { id: number }[];
    const read = this.#db.prepare('SELECT text FROM texts WHERE id = ?');
    return best.map(({ id }) => {
      const { text = '' } = (read.get(id) as { text: string } | undefined) ?? {};
      const at = text.toLowerCase().indexOf(word);
      return text.slice(Math.max(0, at - 80), at + 160);
    });
  }

  close(): void {
    this.#db.close();
  }
}
