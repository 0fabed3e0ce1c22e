import type { Change } from '../../batch.ts';
import type { ContextMeta } from '../../rows.ts';
import { ChangeListeners } from '../../plan/report.ts';
import type { Database } from '../../../postgres/database.ts';
import { prepared } from '../../../postgres/sql.ts';
import type { Statement } from '../../../postgres/sql.ts';
import { Bell } from '../../../base/bell.ts';
import { HOLDER } from './clock.ts';

// A change as text, for the servers that did not make it. The text is JSON. JSON has no form for ids and bytes, so
// they are written as objects with one key that no row has. Metadata of contexts may have any key, and is embedded
// as a text.

export function encodeChange(change: Change): string {
  const contexts = change.contexts.map((row) => ({ ...row, meta: JSON.stringify(row.meta) }));
  const deltas = change.deltas.map((delta) => ({ ...delta, bytes: toBase64(delta.bytes) }));
  return JSON.stringify({ ...change, contexts, deltas }, (_key, value: unknown) =>
    typeof value === 'bigint' ? { $id: String(value) } : value,
  );
}

type Encoded = Omit<Change, 'contexts' | 'deltas'> & {
  readonly contexts: readonly (Omit<Change['contexts'][number], 'meta'> & { meta: string })[];
  readonly deltas: readonly (Omit<Change['deltas'][number], 'bytes'> & { bytes: string })[];
};

export function decodeChange(text: string): Change {
  const change = JSON.parse(text, (_key, value: unknown) => {
    const isId = typeof value === 'object' && value !== null && '$id' in value;
    return isId && typeof value.$id === 'string' ? BigInt(value.$id) : value;
  }) as Encoded;
  return {
    ...change,
    contexts: change.contexts.map((row) => ({ ...row, meta: JSON.parse(row.meta) as ContextMeta })),
    deltas: change.deltas.map((delta) => ({
      ...delta,
      bytes: new Uint8Array(Buffer.from(delta.bytes, 'base64')),
    })),
    // An open turn has no payload; JSON leaves the key out.
    opened: change.opened.map((row) => ({ ...row, payload: undefined })),
  };
}

/** Undefined for a row that is damaged: listeners are told that they missed it. */
function decodeOrNone(text: string): Change | undefined {
  try {
    return decodeChange(text);
  } catch {
    return undefined;
  }
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

// The changes of all servers, in commit order, read from the one table that all servers write them to.
// Invariants
// - Every commit that changed something has a row, and the row numbers have no gaps. A missing row was removed
//   because of its age, and listeners are told that they missed some.
// - A notification only says when to read. Without notifications, the feed reads once a second.
// - A listener does not hear of a commit that this process knew to be over when the listening began.

const POLL_MS = 1000;
export const CHANGES_AT_ONCE = 256;
/** When more changes than this happened since the last look, listeners are not told of them one by one. */
const CATCH_UP_MAX = 1024;
/** Changes are kept for at least a minute. A listener that is away for longer is told that it missed some. */
const PRUNE_EVERY_MS = 15_000;
const PRUNE_ROWS = 4096;

export const READ_CHANGES: Statement = prepared('read-changes')`
  SELECT seq, change FROM quipu.changes WHERE seq > $1 ORDER BY seq LIMIT $2`;
export const READ_SEQ: Statement = prepared('read-seq')`SELECT seq, store FROM quipu.clock`;
/**
 * Removes nothing while a collection runs, because it must know of every commit since it began. The statement reads
 * only the oldest rows, by their number, however many rows there are.
 */
const PRUNE = prepared('prune-changes')`
  WITH old AS (SELECT o.seq FROM (SELECT seq, at FROM quipu.changes ORDER BY seq LIMIT $1) o
    WHERE o.at < now() - interval '1 minute' AND NOT EXISTS (${HOLDER.text})),
  gone AS (DELETE FROM quipu.changes c USING old WHERE c.seq = old.seq RETURNING 1)
  SELECT count(*) AS gone FROM gone`;

export class ChangeFeed {
  readonly #database: Database;
  readonly #channel: string;
  readonly #listeners: ChangeListeners = new ChangeListeners();
  readonly #missed: Set<() => void> = new Set();
  readonly #bell: Bell = new Bell();
  /** The last commit that this process knows of. */
  #known: number;
  /** The last commit that listeners were told of. */
  #told = 0;
  #running: Promise<void> | undefined;
  #closed = false;
  readonly #timer: NodeJS.Timeout;
  #pruning: Promise<void> | undefined;

  constructor(database: Database, channel: string, seq: number) {
    this.#database = database;
    this.#channel = channel;
    this.#known = seq;
    this.#timer = setInterval(() => this.#pruneNow(), PRUNE_EVERY_MS);
    this.#timer.unref();
    // Short-lived commands end before the timer fires, so the first pruning runs at once.
    this.#pruneNow();
  }

  /** Notes a commit of this process, or one that the process heard of. */
  note(seq: number): void {
    this.#known = Math.max(this.#known, seq);
    this.#bell.ring();
  }

  add(listener: (change: Change) => void, missed: (() => void) | undefined): () => void {
    const from = this.#known;
    const end = this.#listeners.add((change) => {
      if (change.seq > from) listener(change);
    });
    if (missed !== undefined) this.#missed.add(missed);
    if (this.#running === undefined) {
      this.#told = from;
      this.#running = this.#run();
    }
    return () => {
      end();
      if (missed !== undefined) this.#missed.delete(missed);
      this.#bell.ring();
    };
  }

  /** Ends all listening. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#listeners.clear();
    this.#missed.clear();
    this.#bell.ring();
    await this.#running;
    await this.#pruning;
  }

  async #run(): Promise<void> {
    const end = this.#database.listen(this.#channel, {
      heard: (seq) => this.note(Number(seq)),
      began: () => this.#bell.ring(),
    });
    const timer = setInterval(() => this.#bell.ring(), POLL_MS);
    timer.unref();
    try {
      for (let first = true; this.#listeners.some; first = false) {
        // The database has been away for longer than the retry limit. The next ring tries again.
        await this.#look(first).catch(() => undefined);
        if (this.#listeners.some) await this.#bell.wait();
      }
    } finally {
      clearInterval(timer);
      this.#running = undefined;
      await end();
    }
  }

  /** Tells all that is new. */
  async #look(first: boolean): Promise<void> {
    if (first) {
      const [clock] = await this.#database.query<{ seq: number }>(READ_SEQ);
      if ((clock?.seq ?? 0) - this.#told > CATCH_UP_MAX) this.#skipTo(clock?.seq ?? 0);
    }
    for (;;) {
      const rows = await this.#database.query<{ seq: number; change: string }>(READ_CHANGES, [
        this.#told,
        CHANGES_AT_ONCE,
      ]);
      for (const { seq, change } of rows) {
        if (seq !== this.#told + 1) this.#skipTo(seq - 1);
        this.#told = seq;
        this.#known = Math.max(this.#known, seq);
        const told = decodeOrNone(change);
        if (told === undefined) this.#skipTo(seq);
        else this.#listeners.tell(told);
      }
      if (rows.length < CHANGES_AT_ONCE) return;
    }
  }

  #skipTo(seq: number): void {
    this.#told = seq;
    for (const missed of this.#missed) missed();
  }

  #pruneNow(): void {
    // Rows that stay because of a failure, as on a standby, are removed next time.
    this.#pruning ??= this.#prune()
      .catch(() => undefined)
      .finally(() => (this.#pruning = undefined));
  }

  /** Any server prunes, even when nobody commits: no other process removes the rows of a server that is gone. */
  async #prune(): Promise<void> {
    for (;;) {
      const [row] = await this.#database.query<{ gone: number }>(PRUNE, [PRUNE_ROWS]);
      if (this.#closed || (row?.gone ?? 0) < PRUNE_ROWS) return;
    }
  }
}
