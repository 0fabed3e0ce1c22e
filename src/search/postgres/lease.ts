import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { QuipuError } from '../../base/errors.ts';
import type { Database } from '../../postgres/database.ts';
import { prepared } from '../../postgres/sql.ts';
import type { HoldWish } from '../contract/search-index.ts';

// Which server may change the index, by the database's clock.
// Invariants
// - At most one lease is alive at any time. A page is written only by the newest one: its transaction looks at the
//   holder, and keeps the row to its end.
// - A server that stands still holds the others up for `LEASE_MS` at most.
// - An erasure goes first: while one waits, nobody else gets the lease.
// The lease itself may be lost with the last moments before a crash of the database, so nothing waits for a disk.

const LEASE_MS = 10_000;
const RENEW_MS = 2500;
const LOOK_MS = 50;
const LOOK_MS_MAX = 500;
/** An erasure that waits says so again with every look. */
const WAITS_MS = 5000;

const SOON = `set_config('synchronous_commit', 'off', true)`;
const CLAIM = prepared('search-claim')`
  UPDATE quipu.search_state SET holder = $1, begun = true,
    expires_at = clock_timestamp() + $2 * interval '1 millisecond',
    waiting = CASE WHEN waiting = $1 THEN NULL ELSE waiting END
  WHERE texts = $3 AND (holder IS NULL OR holder = $1 OR expires_at < clock_timestamp())
    AND (waiting IS NULL OR waiting = $1 OR waits_until < clock_timestamp())
  RETURNING generation, next_doc AS next, (SELECT seq FROM quipu.clock) AS seq,
    EXISTS (SELECT FROM quipu.search_erasures e WHERE e.expires_at < clock_timestamp()) AS doubtful, ${SOON}`;
const LOOK = prepared('search-look')`
  SELECT texts, done, total, what FROM quipu.search_state`;
const WAIT = prepared('search-wait')`
  UPDATE quipu.search_state SET waiting = $1, waits_until = clock_timestamp() + $2 * interval '1 millisecond'
  WHERE waiting IS NULL OR waiting = $1 OR waits_until < clock_timestamp() RETURNING ${SOON}`;
const RENEW = prepared('search-renew')`
  UPDATE quipu.search_state SET expires_at = clock_timestamp() + $2 * interval '1 millisecond'
  WHERE holder = $1
  RETURNING (waiting IS NOT NULL AND waits_until > clock_timestamp()) AS wanted, ${SOON}`;
const RELEASE = prepared('search-release')`
  UPDATE quipu.search_state SET holder = NULL, expires_at = NULL, seen_seq = greatest(seen_seq, $2)
  WHERE holder = $1 RETURNING ${SOON}`;
const NO_LONGER = prepared('search-no-longer')`
  UPDATE quipu.search_state SET waiting = NULL WHERE waiting = $1`;

/** The right to change the index, as long as it lasts. */
export class Lease {
  readonly id: string;
  readonly generation: number;
  /** The number of the last commit before the lease began. */
  readonly seq: number;
  /** True when a server died in an erasure: the index must be begun again. */
  readonly isDoubtful: boolean;
  /** The number of the next document. Whoever writes a page moves it. */
  next: number;
  isWanted = false;
  readonly #database: Database;
  readonly #timer: NodeJS.Timeout;

  constructor(database: Database, id: string, row: ClaimRow) {
    this.#database = database;
    this.id = id;
    this.generation = row.generation;
    this.next = row.next;
    this.seq = row.seq;
    this.isDoubtful = row.doubtful;
    this.#timer = setInterval(() => void this.#renew(), RENEW_MS).unref();
  }

  /** `seenSeq`: the index knows all commits up to this one. */
  async release(seenSeq: number): Promise<void> {
    clearInterval(this.#timer);
    // A lease that cannot be given back ends by itself.
    await this.#database.query(RELEASE, [this.id, seenSeq]).catch(() => undefined);
  }

  async #renew(): Promise<void> {
    // If this fails, the lease may end, and the next page is refused.
    const [row] = await this.#database
      .query<{ wanted: boolean }>(RENEW, [this.id, LEASE_MS])
      .catch(() => []);
    if (row !== undefined) this.isWanted = row.wanted;
  }
}

interface ClaimRow {
  readonly generation: number;
  readonly next: number;
  readonly seq: number;
  readonly doubtful: boolean;
}

/** Waits for the lease. Undefined when the index is filled by servers that read texts in another way. */
export async function takeLease(
  database: Database,
  texts: string,
  { isUrgent, signal, waiting }: HoldWish,
): Promise<Lease | undefined> {
  const id = randomUUID();
  for (let pauseMs = LOOK_MS; ; pauseMs = Math.min(LOOK_MS_MAX, pauseMs * 2)) {
    const [row] = await database.query<ClaimRow>(CLAIM, [id, LEASE_MS, texts]);
    if (row !== undefined) return new Lease(database, id, row);
    const [state] = await database.query<{
      texts: string;
      done: number;
      total: number;
      what: string;
    }>(LOOK);
    if (state === undefined || state.texts !== texts) return undefined;
    waiting?.(state.done, state.total, state.what);
    if (isUrgent()) await database.query(WAIT, [id, WAITS_MS]);
    await sleep(isUrgent() ? LOOK_MS : pauseMs, undefined, { signal }).catch(() => undefined);
    if (!signal.aborted) continue;
    if (isUrgent()) await database.query(NO_LONGER, [id]).catch(() => undefined);
    throw new QuipuError('CLOSED', 'the store is closed', { what: 'search index' });
  }
}
