import { NO_TURN } from '../base/brand.ts';
import type { ContextId, TurnId } from '../base/brand.ts';
import { OneAtATime } from '../base/one-at-a-time.ts';
import type { Context } from '../context/context.ts';
import type { NewTurn } from '../context/contexts.ts';
import type { Turn } from '../context/turn.ts';
import type { Store } from '../store/store.ts';
import { contextsUnder, splitName } from '../agents/names.ts';
import { batchesOf, withRetries } from '../agents/turns.ts';
import {
  BRANCH,
  CHECKPOINT,
  VALUE,
  WRITES,
  changed,
  isCheckpoint,
  isWrites,
  stateAfter,
} from './langgraph-records.ts';
import type { CheckpointRecord, State, Value, WritesRecord } from './langgraph-records.ts';
import type { Values } from './langgraph-values.ts';

// The records of one thread and namespace of LangGraph, as this process knows them.
// Invariants
// - Each branch is a context, `<name>/0` the first. The context `<name>/writes` has the pending writes of all of them.
// - That log tells of a branch before the branch gets its first turn, but for the first one of the thread.
// - A checkpoint says how its values differ from those of the checkpoint before it in its branch, or has all of them.
// - Only what is durable is here. `refresh` reads what other processes have added.

/** A checkpoint in its branch. */
export interface Saved {
  /** Undefined when it was erased. */
  readonly record: CheckpointRecord | undefined;
  /** Undefined when a record that they build on was erased. */
  readonly state: State | undefined;
  readonly turn: TurnId;
  readonly depth: number;
}

export type Write = readonly [task: string, channel: string, value: Value];

interface Branch {
  readonly id: ContextId;
  /** The last part of its name: a number, or `writes` for the log of pending writes. */
  readonly last: string;
  /** The turn that it begins after. */
  readonly base: TurnId;
  head: TurnId;
  /** The depth of the next turn. */
  next: number;
  /** The newest checkpoint. */
  tip: Saved | undefined;
}

const KIND = 'langgraph';
const LOG = 'writes';
/** Longer values are read when somebody asks for them. */
const READ_BYTES = 65_536;

export class Thread {
  /** The prefix, the id of the thread and its namespace. */
  readonly parts: readonly string[];
  readonly saved: Map<string, Saved> = new Map();
  readonly writes: Map<string, Map<string, Write>> = new Map();
  /** The newest checkpoint, by its id. */
  latest: string | undefined;
  readonly #store: Store;
  readonly #name: string;
  readonly #values: Values;
  readonly #branches = new Map<ContextId, Branch>();
  readonly #readers = new OneAtATime<Thread>();
  #log: Branch | undefined;
  #nextBranch = 0;
  /** The highest number that the log has told of. */
  #toldBranch = 0;

  /** `values` gets each value that has a turn of its own. */
  constructor(store: Store, name: string, values: Values) {
    this.#store = store;
    this.#name = name;
    this.parts = splitName(name);
    this.#values = values;
  }

  /** Reads what is new in the store, one reader at a time. Finds new branches by the log, or lists all. */
  async refresh(find: 'new' | 'all' = 'new'): Promise<void> {
    // To read on in a branch that was removed is NOT_FOUND.
    const read = (): Promise<void> => withRetries(() => this.#read(find), this.#forget);
    await this.#readers.run(this, read);
  }

  /** Returns the branch that ends with this checkpoint, or a new one that begins there. */
  async branchAt(base: Saved | undefined): Promise<Branch> {
    const branches = [...this.#branches.values()];
    const free = branches.find(({ last, tip }) => last !== LOG && tip === base);
    const name = `${this.#name}/${this.#nextBranch}`;
    const details = { name, kind: KIND, ...(base !== undefined && { base: base.turn }) };
    const branch = free ?? this.#branchOf(await this.#store.contexts.create(details));
    const number = Number(branch.last);
    // The first branch is found without it: who knows of no branch lists all of them.
    if (number > 0 && branch.head === branch.base)
      await this.append(await this.log(), [{ type: BRANCH, payload: number }]);
    return branch;
  }

  /** Returns the log of pending writes. */
  async log(): Promise<Branch> {
    if (this.#log !== undefined) return this.#log;
    const { contexts } = this.#store;
    return this.#branchOf(await contexts.getOrCreate(`${this.#name}/${LOG}`, { kind: KIND }));
  }

  async append(branch: Branch, turns: readonly NewTurn[]): Promise<void> {
    for (const batch of batchesOf(turns)) {
      const expected = branch.last === LOG ? {} : { expectedHead: branch.head };
      const appended = await this.#store.contexts.appendBatch(branch.id, batch, expected);
      // The payloads are at hand: to decode them again took a tenth of the time of a put.
      for (const [i, turn] of appended.entries()) this.#absorb(branch, turn, batch[i]?.payload);
    }
  }

  async #read(find: 'new' | 'all'): Promise<void> {
    const { contexts } = this.#store;
    const known = [...this.#branches.keys()];
    const isKnown = find === 'new' && this.#nextBranch > 0;
    const isLogNew = isKnown && this.#log === undefined;
    // A listing makes the engine write its index first, and reads the details of each context.
    const [log, found] = await Promise.all([
      isLogNew ? contexts.byName(`${this.#name}/${LOG}`) : undefined,
      isKnown ? contexts.heads(known) : contextsUnder(this.#store, ...this.parts),
    ]);
    for (const context of found) {
      const branch = this.#branchOf(context);
      if (branch.head !== context.head) await this.#readOn(branch);
    }
    const there = new Set(found.map(({ id }) => id));
    const isGone = known.some((id) => !there.has(id));
    if (isGone) this.#forget();
    const hasMore = isKnown && (log !== undefined || this.#toldBranch >= this.#nextBranch);
    if (isGone || hasMore) await this.#read('all');
  }

  #branchOf({ id, base, name = '' }: Pick<Context, 'id' | 'base' | 'name'>): Branch {
    const known = this.#branches.get(id);
    if (known !== undefined) return known;
    const last = name.slice(name.lastIndexOf('/') + 1);
    const tip = [...this.saved.values()].find(({ turn }) => turn === base);
    const at = tip === undefined ? { head: NO_TURN, next: 0 } : { head: base, next: tip.depth + 1 };
    const branch = { id, last, base, tip, ...at };
    if (last === LOG) this.#log = branch;
    else this.#nextBranch = Math.max(this.#nextBranch, Number(last) + 1);
    this.#branches.set(id, branch);
    return branch;
  }

  async #readOn(branch: Branch): Promise<void> {
    const { contexts } = this.#store;
    let from: number | undefined = branch.next;
    while (from !== undefined) {
      const read = { payload: READ_BYTES };
      const page = await contexts.range(branch.id, from, Number.MAX_SAFE_INTEGER, read);
      for (const turn of page.turns) {
        const isLong = turn.type !== VALUE && turn.size > READ_BYTES;
        const whole = isLong ? await contexts.turn(turn.id) : turn;
        if (whole !== undefined) this.#absorb(branch, whole, whole.payload);
      }
      from = page.nextDepth;
    }
  }

  /** Takes the next turn of a branch. Others are known already, are read later, or are of one that was removed. */
  #absorb(branch: Branch, turn: Turn, payload: unknown): void {
    if (turn.depth !== branch.next || this.#branches.get(branch.id) !== branch) return;
    branch.head = turn.id;
    branch.next += 1;
    const isErased = payload === undefined;
    if (turn.type === CHECKPOINT && (isErased || isCheckpoint(payload)))
      this.#takeCheckpoint(branch, turn, payload);
    else if (turn.type === WRITES && isWrites(payload)) this.#takeWrites(payload);
    else if (turn.type === BRANCH) this.#toldBranch = Math.max(this.#toldBranch, Number(payload));
    else if (turn.type === VALUE && typeof payload === 'string')
      this.#values.remember(turn.payloadHash ?? '', payload);
  }

  #takeCheckpoint(branch: Branch, { id: turn, depth }: Turn, record?: CheckpointRecord): void {
    const known = this.saved.get(record?.id ?? '');
    const before = branch.tip?.state;
    if (known?.turn === turn) branch.tip = known;
    else branch.tip = { record, state: record && stateAfter(before, record), turn, depth };
    if (record === undefined) return;
    this.saved.set(record.id, branch.tip);
    if (this.latest === undefined || record.id > this.latest) this.latest = record.id;
  }

  #takeWrites({ checkpoint, task, writes }: WritesRecord): void {
    const all = this.writes.get(checkpoint) ?? new Map<string, Write>();
    this.writes.set(checkpoint, all);
    for (const [index, channel, change] of writes) {
      const key = JSON.stringify([task, index]);
      // LangGraph numbers what may be written again below zero.
      if (index < 0 || !all.has(key)) all.set(key, [task, channel, changed(change)]);
    }
  }

  readonly #forget = (): void => {
    this.saved.clear();
    this.writes.clear();
    this.#branches.clear();
    this.latest = undefined;
    this.#log = undefined;
    this.#nextBranch = 0;
    this.#toldBranch = 0;
  };
}
