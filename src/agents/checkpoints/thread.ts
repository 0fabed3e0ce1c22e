import { NO_TURN, type ContextId, type TurnId } from '../../base/brand.ts';
import { OneAtATime } from '../../base/one-at-a-time.ts';
import type { Context } from '../../context/context.ts';
import type { NewTurn } from '../../context/contexts.ts';
import type { Turn } from '../../context/turn.ts';
import type { Store } from '../../store/store.ts';
import { contextsUnder, joinName, batchesOf, withRetries } from '../contexts.ts';
import {
  changed,
  isCheckpoint,
  isWrites,
  stateAfter,
  type CheckpointRecord,
  type State,
  type Value,
  type WritesRecord,
  type Fresh,
  type Values,
} from './values.ts';

// The records of one thread, as this process knows them.
// Invariants
// - Each branch is a context, `<name>/0` the first. The context `<name>/writes`, the log, has the pending writes of all.
// - The log tells of a branch before the branch gets its first turn, but for the first one of the thread.
// - A checkpoint says how its values differ from those of the checkpoint before it in its branch, or has all of them.
// - Only what is durable is here. `refresh` reads what other processes have added.

/** The place of a checkpoint in its branch, and the values there. */
interface Tip {
  /** Undefined when a record that they build on was erased. */
  readonly state: State | undefined;
  readonly turn: TurnId;
  readonly depth: number;
}

export interface Saved extends Tip {
  readonly record: CheckpointRecord;
}

export type Write = readonly [task: string, name: string, value: Value];

interface Branch {
  readonly id: ContextId;
  /** Undefined for the log. */
  readonly number: number | undefined;
  /** The turn that it begins after. */
  readonly base: TurnId;
  head: TurnId;
  /** The depth of the next turn. */
  next: number;
  /** The newest checkpoint. */
  tip: Tip | undefined;
}

/** What is known of a thread: nothing at first, and again when some of it was removed. */
class Known {
  readonly saved: Map<string, Saved> = new Map();
  readonly writes: Map<string, Map<string, Write>> = new Map();
  /** The newest checkpoint, by its id. */
  latest: string | undefined;
  readonly branches: Map<ContextId, Branch> = new Map();
  log: Branch | undefined;
  nextBranch = 0;
  /** The highest number that the log has told of. */
  toldBranch = 0;
}

const LOG = 'writes';
/** Longer values are read when somebody asks for them. */
const READ_BYTES = 65_536;
/** The heads of more contexts take more than one call. */
const HEADS_MAX = 10_000;

export class Thread {
  /** Another one when some of it was removed. */
  known: Known = new Known();
  readonly #store: Store;
  readonly #parts: readonly string[];
  readonly #values: Values;
  /** The names of all its contexts begin with this. */
  readonly #start: string;
  readonly #readers = new OneAtATime<Thread>();

  /** `parts` are the prefix and the name of the thread. `values` gets each value that has a turn of its own. */
  constructor(store: Store, parts: readonly string[], values: Values) {
    this.#store = store;
    this.#parts = parts;
    this.#values = values;
    this.#start = joinName(...parts, '');
  }

  get name(): readonly string[] {
    return this.#parts.slice(1);
  }

  /** Reads what is new in the store, one reader at a time. Finds new branches by the log, or lists all. */
  async refresh(find: 'new' | 'all' = 'new'): Promise<void> {
    // To read on in a branch that was removed is NOT_FOUND.
    const read = (): Promise<void> => withRetries(() => this.#read(find), this.#forget);
    await this.#readers.run(this, read);
  }

  /** Appends a checkpoint to the branch that ends with `base`, or to a new one that begins there. */
  async save(base: Saved | undefined, record: CheckpointRecord, fresh: Fresh): Promise<void> {
    const { kind } = this.#values;
    const branches = [...this.known.branches.values()];
    const free = branches.find(({ number, tip }) => number !== undefined && tip === base);
    const name = `${this.#start}${this.known.nextBranch}`;
    const details = { name, kind, ...(base !== undefined && { base: base.turn }) };
    const branch = free ?? this.#branchOf(await this.#store.contexts.create(details));
    const { number = 0 } = branch;
    // The first branch is found without it: who knows of no branch lists all of them.
    if (number > 0 && branch.head === branch.base)
      await this.#log([{ type: `${kind}.branch`, payload: number }]);
    const turns = [...fresh.values(), { type: `${kind}.checkpoint`, payload: record }];
    await this.#append(branch, turns);
  }

  async addWrites(record: WritesRecord, fresh: Fresh): Promise<void> {
    const type = `${this.#values.kind}.writes`;
    await this.#log([...fresh.values(), { type, payload: record }]);
  }

  async #log(turns: readonly NewTurn[]): Promise<void> {
    const { kind } = this.#values;
    const name = `${this.#start}${LOG}`;
    const log = this.known.log ?? (await this.#store.contexts.getOrCreate(name, { kind }));
    await this.#append(this.#branchOf(log), turns);
  }

  async #append(branch: Branch, turns: readonly NewTurn[]): Promise<void> {
    for (const batch of batchesOf(turns)) {
      const expected = branch.number === undefined ? {} : { expectedHead: branch.head };
      const appended = await this.#store.contexts.appendBatch(branch.id, batch, expected);
      // The payloads are at hand: to decode them again took a tenth of the time of a put.
      for (const [i, turn] of appended.entries()) this.#absorb(branch, turn, batch[i]?.payload);
    }
  }

  async #read(find: 'new' | 'all'): Promise<void> {
    const { contexts } = this.#store;
    const { log, branches, nextBranch } = this.known;
    const known = [...branches.keys()];
    const isKnown = find === 'new' && nextBranch > 0 && known.length <= HEADS_MAX;
    // A listing makes the engine write its index first, and reads the details of each context.
    const [newLog, found] = await Promise.all([
      isKnown && log === undefined ? contexts.byName(`${this.#start}${LOG}`) : undefined,
      isKnown ? contexts.heads(known) : this.#list(),
    ]);
    for (const context of found) {
      const branch = this.#branchOf(context);
      if (branch.head !== context.head) await this.#readOn(branch);
    }
    const there = new Set(found.map(({ id }) => id));
    const isGone = known.some((id) => !there.has(id));
    if (isGone) this.#forget();
    const isTold = this.known.toldBranch >= this.known.nextBranch;
    if (isGone || (isKnown && (newLog !== undefined || isTold))) await this.#read('all');
  }

  /** Returns the contexts of this thread, without those of threads within it. */
  async #list(): Promise<Context[]> {
    const found = await contextsUnder(this.#store, ...this.#parts);
    return found.filter(({ name }) => startOf(name) === this.#start);
  }

  #branchOf({ id, base, name = '' }: Pick<Context, 'id' | 'base' | 'name'>): Branch {
    const { saved, branches, nextBranch } = this.known;
    const known = branches.get(id);
    if (known !== undefined) return known;
    const last = name.slice(this.#start.length);
    const number = last === LOG ? undefined : Number(last);
    const tip = [...saved.values()].find(({ turn }) => turn === base);
    const at = tip === undefined ? { head: NO_TURN, next: 0 } : { head: base, next: tip.depth + 1 };
    const branch = { id, number, base, tip, ...at };
    if (number === undefined) this.known.log = branch;
    else this.known.nextBranch = Math.max(nextBranch, number + 1);
    branches.set(id, branch);
    return branch;
  }

  async #readOn(branch: Branch): Promise<void> {
    let from: number | undefined = branch.next;
    while (from !== undefined) {
      const read = { payload: READ_BYTES };
      const page = await this.#store.contexts.range(branch.id, from, Number.MAX_SAFE_INTEGER, read);
      for (const turn of page.turns) {
        const isLong = turn.type !== `${this.#values.kind}.value` && turn.size > READ_BYTES;
        const whole = isLong ? await this.#store.contexts.turn(turn.id) : turn;
        if (whole !== undefined) this.#absorb(branch, whole, whole.payload);
      }
      from = page.nextDepth;
    }
  }

  /** Takes the next turn of a branch. Others are known already, are read later, or are of one that was removed. */
  #absorb(branch: Branch, turn: Turn, payload: unknown): void {
    if (turn.depth !== branch.next || this.known.branches.get(branch.id) !== branch) return;
    branch.head = turn.id;
    branch.next += 1;
    const { kind } = this.#values;
    if (turn.type === `${kind}.checkpoint` && (payload === undefined || isCheckpoint(payload)))
      this.#takeCheckpoint(branch, turn, payload);
    else if (turn.type === `${kind}.writes` && isWrites(payload)) this.#takeWrites(payload);
    else if (turn.type === `${kind}.branch` && typeof payload === 'number')
      this.known.toldBranch = Math.max(this.known.toldBranch, payload);
    else if (turn.type === `${kind}.value` && typeof payload === 'string')
      this.#values.remember(turn.payloadHash ?? '', payload);
  }

  /** The record is undefined when it was erased. */
  #takeCheckpoint(branch: Branch, { id: turn, depth }: Turn, record?: CheckpointRecord): void {
    const { saved, latest } = this.known;
    const before = branch.tip?.state;
    branch.tip = { state: undefined, turn, depth };
    if (record === undefined) return;
    const known = saved.get(record.id);
    const isKnown = known?.turn === turn;
    const tip = isKnown ? known : { record, state: stateAfter(before, record), turn, depth };
    branch.tip = tip;
    saved.set(record.id, tip);
    if (latest === undefined || record.id > latest) this.known.latest = record.id;
  }

  #takeWrites({ checkpoint, task, writes }: WritesRecord): void {
    const all = this.known.writes.get(checkpoint) ?? new Map<string, Write>();
    this.known.writes.set(checkpoint, all);
    for (const [number, name, change] of writes) {
      const key = JSON.stringify([task, number]);
      if (number < 0 || !all.has(key)) all.set(key, [task, name, changed(change)]);
    }
  }

  readonly #forget = (): void => {
    this.known = new Known();
  };
}

/** Returns what the names of all contexts of a thread begin with, for one of them; '' for a context of others. */
export function startOf(name: string): string {
  return /^(.*\/)(?:\d+|writes)$/s.exec(name)?.[1] ?? '';
}
