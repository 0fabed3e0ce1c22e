import type { Reliance } from '../../upkeep.ts';
import type { Hash, TurnId } from '../../../base/brand.ts';
import { hashToBytes } from '../../../base/hash.ts';
import type { Database } from '../../../postgres/database.ts';
import { prepared } from '../../../postgres/sql.ts';
import type { Transaction } from '../../../postgres/transaction.ts';
import type { Committed } from '../../batch.ts';
import { Draft, NotInMemory } from '../../plan/draft.ts';
import { planBatch } from '../../plan/plan-batch.ts';
import { sealsText } from '../../plan/plan-streams.ts';
import type { Intake, PreparedBatch } from '../../plan/prepared-batch.ts';
import type { Planned } from '../../plan/report.ts';
import { encodeChange } from '../feed/change-feed.ts';
import {
  type Clock,
  HOLD_CLOCK,
  SET_CLOCK,
  isClockMoved,
  takeClock,
  totalValues,
  nothingAdded,
  readClock,
} from '../feed/clock.ts';
import { View } from './view.ts';
import { prepareAlone } from '../blobs/intake.ts';
import { writeBlobs } from '../blobs/write-blobs.ts';
import { isQuipuError } from '../../../base/errors.ts';
import { writeRows } from './write-rows.ts';

// A group of batches is one transaction. The group reads the clock and the rows that its batches need. It decides
// on each batch in memory. Then it writes all changes in a few statements that travel together with the commit. A
// group takes two round trips, however many batches it has. All commits of all servers are serial: the writes lock
// the clock, and only if the clock did not move since it was read. So no server waits for a server that is planning
// or standing still. Where servers collide, a group locks the clock first and plans while it holds it.

/** The number of groups that lock the clock first after a collision. */
const CLOCK_FIRST_GROUPS = 32;

export interface GroupParts {
  readonly database: Database;
  readonly clock: () => number;
  /** The server that is responsible for the turns opened here. */
  readonly owner: string;
  readonly channel: string;
  /** The collection that runs in this process, if there is one. It is told directly. */
  readonly reliance: () => OwnReliance | undefined;
}

/** The reliance of the collection that runs in this process. */
export interface OwnReliance extends Reliance {
  readonly collection: string;
}

/** The outcome of a batch. */
export type Decision =
  | { readonly committed: Committed; readonly existed: boolean }
  | { readonly error: unknown };

const PUT_CHANGES = prepared('put-changes')`
  INSERT INTO quipu.changes (seq, change) SELECT * FROM unnest($1::bigint[], $2::text[])`;

const NOTIFY = prepared('notify')`SELECT pg_notify($1, $2)`;

const PUT_NOTES = prepared('put-notes')`
  INSERT INTO quipu.collection_notes (collection, hash, turn)
  SELECT $1::uuid, h, NULL FROM unnest($2::bytea[]) h UNION ALL SELECT $1::uuid, NULL, t FROM unnest($3::bigint[]) t`;

async function commitWith(
  parts: GroupParts,
  batches: readonly PreparedBatch[],
  giveClock: typeof takeClock,
): Promise<readonly Decision[]> {
  return parts.database.write(async (transaction) => {
    let nextTurn = 1;
    const view = new View(transaction, () => nextTurn);
    // The rows are read after the clock. So they are of the clock's moment, or the clock has moved since.
    const [clock] = await Promise.all([
      giveClock(parts.database, transaction),
      view.prefetch(batches),
    ]);
    nextTurn = clock.next_turn;
    const { next_context: nextContext, next_patch: nextPatch } = clock;
    // If the system clock jumps back, the time here stands still until the system clock has caught up.
    const nowMs = Math.max(parts.clock(), clock.time_ms);
    const intake: Intake = (blob) => prepareAlone(transaction, blob);
    const draft = new Draft(view, nowMs, { nextTurn, nextContext, nextPatch }, intake);
    const decided: (Decided | { error: unknown })[] = [];
    for (const batch of batches) decided.push(await decide(draft, batch));
    // Refused batches also need the lock: their refusal must have been true at one moment.
    if (clock.version !== undefined) transaction.send(HOLD_CLOCK, [clock.version]);
    return finish(parts, transaction, { clock, view, draft, batches, decided });
  });
}

interface Decided {
  readonly planned: Planned;
  readonly existed: boolean;
}

/** Plans a batch, and plans it again whenever it needs a row that was not read yet. */
async function decide(draft: Draft, batch: PreparedBatch): Promise<Decided | { error: unknown }> {
  for (;;) {
    try {
      return draft.attempt(() => {
        const existed = batch.blobs.every(({ hash }) => draft.hasBlob(hash));
        return { planned: planBatch(draft, batch), existed };
      });
    } catch (error) {
      if (!(error instanceof NotInMemory)) return { error };
      // A failure here is the database's: the whole group is retried or fails as one.
      await error.load();
    }
  }
}

interface Group {
  readonly clock: Clock;
  readonly view: View;
  readonly draft: Draft;
  readonly batches: readonly PreparedBatch[];
  readonly decided: readonly (Decided | { error: unknown })[];
}

function finish(parts: GroupParts, transaction: Transaction, group: Group): readonly Decision[] {
  const { clock, draft, decided } = group;
  let { seq } = clock;
  const changes: { seq: number; text: string }[] = [];
  const decisions = decided.map((decision): Decision => {
    if ('error' in decision) return decision;
    const { planned, existed } = decision;
    if (planned.changed) seq += 1;
    const change = planned.changed ? planned.toChange(seq) : undefined;
    if (change !== undefined) changes.push({ seq, text: encodeChange(change) });
    return { committed: planned.toCommitted(seq), existed };
  });
  note(parts, transaction, group);
  const totals = nothingAdded();
  const touched = touchedBlobs(group);
  if (seq === clock.seq && touched.length === 0) return decisions;

  const { view } = group;
  writeBlobs(transaction, { draft, seq, totals, touched });
  writeRows(transaction, { draft, view, seq, totals, owner: parts.owner });
  const { nextTurn, nextContext, nextPatch } = draft.counters;
  const counters = [seq, nextTurn, nextContext, nextPatch, draft.nowMs];
  transaction.send(SET_CLOCK, [...counters, ...totalValues(totals)]);
  if (changes.length > 0) {
    transaction.send(PUT_CHANGES, [changes.map((one) => one.seq), changes.map(({ text }) => text)]);
    transaction.send(NOTIFY, [parts.channel, String(seq)]);
  }
  return decisions;
}

/** The blobs that a batch put and that existed before its group. */
function touchedBlobs({ batches, decided, draft, view }: Group): Hash[] {
  const touched = new Set<Hash>();
  for (const [at, batch] of batches.entries()) {
    if (decided[at] === undefined || 'error' in decided[at]) continue;
    for (const { hash } of batch.blobs) {
      if (draft.blobs.get(hash) === undefined && view.hasBlob(hash)) touched.add(hash);
    }
  }
  return [...touched];
}

/** Tells a collection in progress what this group relies on, in this process or on another server. */
function note(parts: GroupParts, transaction: Transaction, { clock, view, draft }: Group): void {
  if (clock.collection === null) return;
  const blobs = new Set(view.reliedBlobs);
  for (const [hash] of draft.blobs.entries()) blobs.add(hash);
  const turns = new Set<bigint>(view.reliedTurns);
  for (const [id] of [...draft.turns.entries(), ...draft.opens.entries()]) turns.add(BigInt(id));
  const reliance = parts.reliance();
  if (reliance?.collection === clock.collection) {
    for (const hash of blobs) reliance.blob(hash);
    for (const turn of turns) reliance.turn(turn as TurnId);
    return;
  }
  transaction.send(PUT_NOTES, [clock.collection, [...blobs].map(hashToBytes), [...turns]]);
}

// Group commit: batches that arrive while a group is being committed share the next group.
// Invariants
// - Groups of one process are serial, and so are those of all processes: each holds the clock.
// - Batches are planned in the order they came, and acknowledged in that order once all are durable.
// - A batch whose conditions fail is rejected alone; a group that fails is rejected as a whole.

/** The limits of one group keep a transaction small and the wait short. */
const GROUP_BATCHES_MAX = 1024;
const GROUP_BYTES_MAX = 4 * 1024 * 1024;

export interface Done {
  readonly committed: Committed;
  /** True when every blob of the batch was there before it. */
  readonly existed: boolean;
}

interface Waiting {
  readonly batch: PreparedBatch;
  readonly bytes: number;
  readonly resolve: (done: Done) => void;
  readonly reject: (error: unknown) => void;
}

export class GroupCommitter {
  readonly #parts: GroupParts;
  readonly #onCommit: (seq: number) => void;
  #queue: Waiting[] = [];
  #running: Promise<void> | undefined;
  /** The groups to come that lock the clock first, because other servers commit at the same time. */
  #clockFirst = 0;

  /** `onCommit` hears of the last commit of each group, before it is acknowledged. */
  constructor(parts: GroupParts, onCommit: (seq: number) => void) {
    this.#parts = parts;
    this.#onCommit = onCommit;
  }

  submit(batch: PreparedBatch): Promise<Done> {
    const bytes = batch.blobs.reduce((sum, { compressed }) => sum + compressed.stored.length, 0);
    return new Promise((resolve, reject) => {
      this.#queue.push({ batch, bytes, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when no batch is left. */
  async drain(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    // Batches sent together, and batches of callers that were acknowledged together, share a group.
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#queue.length === 0) break;
      await this.#runGroup(this.#takeGroup());
    }
    this.#running = undefined;
  }

  #takeGroup(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const waiting of this.#queue) {
      const full = count === GROUP_BATCHES_MAX || bytes + waiting.bytes > GROUP_BYTES_MAX;
      if (count > 0 && (full || sealsText(waiting.batch.changes))) break;
      bytes += waiting.bytes;
      count += 1;
    }
    const group = this.#queue.slice(0, count);
    this.#queue = this.#queue.slice(count);
    return group;
  }

  async #commit(batches: readonly PreparedBatch[]): Promise<readonly Decision[]> {
    const isFirst = this.#clockFirst > 0;
    if (isFirst) this.#clockFirst -= 1;
    try {
      return await commitWith(this.#parts, batches, isFirst ? takeClock : readClock);
    } catch (error) {
      if (isFirst || !isClockMoved(error)) throw error;
      this.#clockFirst = CLOCK_FIRST_GROUPS;
      return commitWith(this.#parts, batches, takeClock);
    }
  }

  async #runGroup(group: readonly Waiting[]): Promise<void> {
    try {
      const decisions = await this.#commit(group.map(({ batch }) => batch));
      const last = decisions.findLast((decision) => 'committed' in decision);
      if (last !== undefined && 'committed' in last) this.#onCommit(last.committed.seq);
      for (const [at, decision] of decisions.entries()) {
        if ('error' in decision) group[at]?.reject(decision.error);
        else group[at]?.resolve(decision);
      }
    } catch (error) {
      // One batch has a value that no column takes. The other batches must not fail with it.
      if (group.length > 1 && isQuipuError(error, 'INVALID')) {
        for (const waiting of group) await this.#runGroup([waiting]);
      } else {
        for (const { reject } of group) reject(error);
      }
    }
  }
}
