import { randomUUID } from 'node:crypto';
import type { TurnId } from '../../../base/brand.ts';
import { orNothing } from '../../../base/errors.ts';
import type { Database } from '../../../postgres/database.ts';
import { prepared } from '../../../postgres/sql.ts';

// Tracks which servers are present. A turn that is being streamed into belongs to the server that wrote to it last.
// When that server is gone, no one can go on writing, and another server seals the turn as interrupted with every
// acknowledged byte. A server is gone when it said so, or when it has not been seen for a while during which the
// database was up.

const BEAT_MS = 5000;
const GONE_AFTER_S = 20;

/** A condition on the row of a server, `s`: it was not seen for a while during which the database was up. */
export const IS_GONE: string = `greatest(s.seen_at, pg_postmaster_start_time()) < now() - make_interval(secs => ${GONE_AFTER_S})`;

const BEAT = prepared('beat')`
  INSERT INTO quipu.servers (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET seen_at = now()`;
const LEAVE = prepared('leave')`DELETE FROM quipu.servers WHERE id = $1`;
const FIND_ABANDONED = prepared('find-abandoned')`
  SELECT o.turn FROM quipu.open_turns o LEFT JOIN quipu.servers s ON s.id = o.owner
  WHERE o.owner <> $1 AND (s.id IS NULL OR ${IS_GONE}) ORDER BY o.turn`;
const FORGET = prepared('forget-servers')`
  DELETE FROM quipu.servers s WHERE s.seen_at < now() - interval '1 hour'
  AND NOT EXISTS (SELECT FROM quipu.open_turns o WHERE o.owner = s.id)`;

export class Presence {
  readonly id: string = randomUUID();
  readonly #database: Database;
  readonly #seal: (turn: TurnId) => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | undefined;

  /** `seal` ends an abandoned turn as interrupted. */
  constructor(database: Database, seal: (turn: TurnId) => Promise<void>) {
    this.#database = database;
    this.#seal = seal;
  }

  /** Resolves when every turn that was abandoned by then is sealed. */
  async enter(): Promise<void> {
    // A standby can be read. A server that can write seals the turns.
    await orNothing(async () => {
      await this.#database.query(BEAT, [this.id]);
      await this.#sealAbandoned();
    }, 'READ_ONLY');
    this.#timer = setInterval(() => {
      // A beat that fails is made good by the next one.
      this.#beating ??= this.#beat()
        .catch(() => undefined)
        .finally(() => (this.#beating = undefined));
    }, BEAT_MS);
    this.#timer.unref();
  }

  async leave(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beating;
    // If this message is lost, other servers notice the absence after a while. That costs only time.
    await this.#database.query(LEAVE, [this.id]).catch(() => undefined);
  }

  async #beat(): Promise<void> {
    await this.#database.query(BEAT, [this.id]);
    await this.#sealAbandoned();
    await this.#database.query(FORGET);
  }

  async #sealAbandoned(): Promise<void> {
    const rows = await this.#database.query<{ turn: number }>(FIND_ABANDONED, [this.id]);
    for (const { turn } of rows) await this.#seal(BigInt(turn) as TurnId);
  }
}
