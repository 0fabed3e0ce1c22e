import type { ContextId, TurnId } from '../base/brand.ts';
import { OneAtATime } from '../base/one-at-a-time.ts';
import type { Context } from '../context/context.ts';
import type { NewTurn } from '../context/contexts.ts';
import type { Turn } from '../context/turn.ts';
import type { Store } from '../store/store.ts';
import { contextsUnder, joinName } from './shared.ts';

// The records of one thread and namespace of LangGraph, as this process knows them.
// Invariants
// - Each branch is a context, `<name>/0` the first. The context `<name>/writes` has the pending writes of all of them.
// - A checkpoint says how its values differ from those of the checkpoint before it in its branch, or has all of them.
// - Only what is durable is here. `refresh` reads what other processes have added.
// - Branches are numbered without gaps, so the next number tells whether there is a new one. Somebody who removes a
//   branch by hand can leave a gap. A listing of all branches finds those behind it.

/** A value: `=` and its JSON, or its serialisation, a colon and the hash of its blob. */
export type Piece = string;

/** The pieces that stay at the start and at the end of the list before, and those between them. */
type ListChange = readonly [keep: number, tail: number, ...added: Piece[]];

/** Null for a channel that is gone. */
export type Change = Piece | ListChange | null;

export interface CheckpointRecord {
  readonly id: string;
  readonly parent?: string;
  /** True when nothing is taken over from the checkpoint before. */
  readonly full: boolean;
  readonly checkpoint: Piece;
  readonly metadata: Piece;
  readonly values: (readonly [channel: string, change: Change])[];
}

export interface WritesRecord {
  readonly checkpoint: string;
  readonly task: string;
  readonly writes: (readonly [index: number, channel: string, value: Piece | ListChange])[];
}

export interface Saved extends Pick<CheckpointRecord, 'id' | 'parent' | 'checkpoint' | 'metadata'> {
  readonly turn: TurnId;
  readonly depth: number;
  /** Undefined when a record that they build on was erased. */
  readonly values: ReadonlyMap<string, Piece | List> | undefined;
}

export type Write = readonly [task: string, channel: string, value: Piece | List];

/** A list as its difference to the list before. Only the newest list of a branch has its pieces at hand. */
export class List {
  readonly #before: List | undefined;
  readonly #change: ListChange;
  #pieces: readonly Piece[] | undefined;

  constructor(before: List | undefined, change: ListChange) {
    this.#before = before;
    this.#change = change;
  }

  pieces(): readonly Piece[] {
    if (this.#pieces !== undefined) return this.#pieces;
    const changes = [this.#change];
    let list = this.#before;
    for (; list !== undefined && list.#pieces === undefined; list = list.#before) {
      changes.push(list.#change);
    }
    const pieces = list === undefined ? [] : [...(list.#pieces ?? [])];
    for (const [keep, tail, ...added] of changes.toReversed()) {
      // One by one: the arguments of a call have a bound, and a list may be longer.
      const rest = pieces.splice(keep);
      for (const piece of added) pieces.push(piece);
      for (const piece of rest.slice(rest.length - tail)) pieces.push(piece);
    }
    if (this.#before !== undefined) this.#before.#pieces = undefined;
    this.#pieces = pieces;
    return pieces;
  }
}

/** Returns the change from `old` to the new value, undefined when there is none. */
export function changeOf(
  old: Piece | List | undefined,
  value: Piece | readonly Piece[],
): Piece | ListChange | undefined {
  if (typeof value === 'string') return value === old ? undefined : value;
  if (!(old instanceof List)) return [0, 0, ...value];
  const before = old.pieces();
  const shorter = Math.min(before.length, value.length);
  let keep = 0;
  while (keep < shorter && before[keep] === value[keep]) keep += 1;
  let tail = 0;
  while (tail < shorter - keep && before.at(-1 - tail) === value.at(-1 - tail)) tail += 1;
  if (keep + tail === before.length && keep + tail === value.length) return undefined;
  return [keep, tail, ...value.slice(keep, value.length - tail)];
}

export interface Branch {
  readonly id: ContextId;
  /** True for the pending writes. */
  readonly isLog: boolean;
  head: TurnId;
  /** The depth of the next turn. */
  next: number;
  /** The newest checkpoint. */
  tip: Saved | undefined;
}

export const CHECKPOINT = 'langgraph.checkpoint';
export const WRITES = 'langgraph.writes';
export const VALUE = 'langgraph.value';
const KIND = 'langgraph';
const LOG = 'writes';
const NO_TURN = 0n as TurnId;
/** Longer values are read when somebody asks for them. */
const READ_BYTES = 65_536;
/** With more branches one listing is faster than a lookup of each. */
const LOOKUPS_MAX = 8;

export class Thread {
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly saved: Map<string, Saved> = new Map();
  readonly writes: Map<string, Map<string, Write>> = new Map();
  /** The newest checkpoint, by its id. */
  latest: string | undefined;
  readonly #parts: readonly string[];
  readonly #store: Store;
  readonly #onValue: (hash: string, bytes: Uint8Array) => void;
  readonly #branches = new Map<ContextId, Branch>();
  readonly #turns = new Map<TurnId, Saved>();
  readonly #readers = new OneAtATime<string>();
  #nextBranch = 0;

  /** `onValue` gets each value that has a turn of its own. */
  constructor(
    store: Store,
    parts: readonly [prefix: string, id: string, namespace: string],
    onValue: (hash: string, bytes: Uint8Array) => void,
  ) {
    this.#store = store;
    this.#parts = parts;
    [, this.id, this.namespace] = parts;
    this.name = joinName(...parts);
    this.#onValue = onValue;
  }

  /** Reads what is new in the store, one reader at a time. Finds new branches by their numbers or by a listing. */
  async refresh(find: 'next' | 'all' = 'next'): Promise<void> {
    await this.#readers.run(this.name, async () => {
      const isFew = this.#branches.size > 0 && this.#branches.size < LOOKUPS_MAX;
      const looked = find === 'next' && isFew ? await this.#lookUp() : undefined;
      const found = looked ?? (await contextsUnder(this.#store, ...this.#parts));
      const ids = new Set(found.map(({ id }) => id));
      if ([...this.#branches.keys()].some((id) => !ids.has(id))) this.#forget();
      for (const context of found) await this.#readOn(context, this.#branchOf(context));
    });
  }

  /**
   * Returns the known branches and the new ones; undefined if one is gone. A listing makes the engine write its index
   * first, which took longer than reading a checkpoint.
   */
  async #lookUp(): Promise<Context[] | undefined> {
    const known = [...this.#branches.values()];
    const hasLog = known.some(({ isLog }) => isLog);
    let number = this.#nextBranch;
    const named = (last: string): Promise<Context | undefined> =>
      this.#store.contexts.byName(joinName(...this.#parts, last));
    const [log, first, ...contexts] = await Promise.all([
      hasLog ? undefined : named(LOG),
      named(String(number)),
      ...known.map(({ id }) => this.#store.contexts.get(id)),
    ]);
    const found = contexts.filter((context) => context !== undefined);
    if (found.length < known.length) return undefined;
    if (log !== undefined) found.push(log);
    for (let next = first; next !== undefined; next = await named(String((number += 1)))) {
      found.push(next);
    }
    return found;
  }

  /** Returns the branch that ends with this checkpoint, or a new one that begins there. */
  async branchAt(base: Saved | undefined): Promise<Branch> {
    const free = [...this.#branches.values()].find(
      ({ isLog, head, tip }) => !isLog && tip === base && (base !== undefined || head === 0n),
    );
    if (free !== undefined) return free;
    const name = joinName(...this.#parts, String(this.#nextBranch));
    const details = { name, kind: KIND, ...(base !== undefined && { base: base.turn }) };
    return this.#branchOf(await this.#store.contexts.create(details));
  }

  async append(branch: Branch, turns: readonly NewTurn[]): Promise<void> {
    const expected = branch.isLog ? {} : { expectedHead: branch.head };
    const appended = await this.#store.contexts.appendBatch(branch.id, turns, expected);
    // The payloads are at hand: to decode them again took a tenth of the time of a put.
    for (const [at, turn] of appended.entries()) this.#absorb(branch, turn, turns[at]?.payload);
  }

  /** Returns the log of pending writes. */
  async log(): Promise<Branch> {
    const known = [...this.#branches.values()].find(({ isLog }) => isLog);
    if (known !== undefined) return known;
    const name = joinName(...this.#parts, LOG);
    return this.#branchOf(await this.#store.contexts.getOrCreate(name, { kind: KIND }));
  }

  #branchOf({ id, base, name }: Context): Branch {
    const known = this.#branches.get(id);
    if (known !== undefined) return known;
    const last = name?.slice(name.lastIndexOf('/') + 1);
    const isLog = last === LOG;
    if (!isLog) this.#nextBranch = Math.max(this.#nextBranch, Number(last) + 1);
    const tip = this.#turns.get(base);
    const at = tip === undefined ? { head: NO_TURN, next: 0 } : { head: base, next: tip.depth + 1 };
    const branch = { id, isLog, tip, ...at };
    this.#branches.set(id, branch);
    return branch;
  }

  async #readOn({ id, head, headDepth }: Context, branch: Branch): Promise<void> {
    if (head === branch.head) return;
    let from: number | undefined = branch.next;
    while (from !== undefined && from <= headDepth) {
      const read = { payload: READ_BYTES };
      const page = await this.#store.contexts.range(id, from, headDepth + 1, read);
      for (const turn of page.turns) {
        const isLong = turn.type !== VALUE && turn.size > READ_BYTES;
        const whole = isLong ? await this.#store.contexts.turn(turn.id) : turn;
        if (whole === undefined) continue;
        this.#absorb(branch, whole, whole.type === VALUE ? whole.bytes : whole.payload);
      }
      from = page.nextDepth;
    }
  }

  /** Takes the next turn of a branch. Others are known already, or are read later, in their order. */
  #absorb(branch: Branch, turn: Turn, payload: unknown): void {
    if (turn.depth !== branch.next) return;
    branch.head = turn.id;
    branch.next += 1;
    if (turn.type === VALUE) this.#takeValue(turn, payload);
    else if (turn.type === CHECKPOINT) this.#takeCheckpoint(branch, turn, payload);
    else if (turn.type === WRITES && payload !== undefined) {
      const { checkpoint, task, writes } = payload as WritesRecord;
      const all = this.writes.get(checkpoint) ?? new Map<string, Write>();
      this.writes.set(checkpoint, all);
      for (const [index, channel, value] of writes) {
        const key = JSON.stringify([task, index]);
        // LangGraph numbers what may be written again below zero.
        if (index >= 0 && all.has(key)) continue;
        all.set(key, [
          task,
          channel,
          typeof value === 'string' ? value : new List(undefined, value),
        ]);
      }
    }
  }

  #takeValue({ payloadHash }: Turn, bytes: unknown): void {
    if (payloadHash !== undefined && bytes !== undefined)
      this.#onValue(payloadHash, bytes as Uint8Array);
  }

  #takeCheckpoint(branch: Branch, turn: Turn, payload: unknown): void {
    const record = payload as CheckpointRecord | undefined;
    const before = record?.full === true ? new Map<string, Piece | List>() : branch.tip?.values;
    const values = record === undefined || before === undefined ? undefined : new Map(before);
    for (const [channel, change] of record?.values ?? []) {
      const old = values?.get(channel);
      if (change === null) values?.delete(channel);
      else if (typeof change === 'string') values?.set(channel, change);
      else values?.set(channel, new List(old instanceof List ? old : undefined, change));
    }
    const { id, depth } = turn;
    const { checkpoint = '', metadata = '' } = record ?? {};
    const named = {
      id: record?.id ?? '',
      ...(record?.parent !== undefined && { parent: record.parent }),
    };
    branch.tip = { ...named, turn: id, depth, checkpoint, metadata, values };
    this.#turns.set(id, branch.tip);
    if (record === undefined) return;
    this.saved.set(record.id, branch.tip);
    if (this.latest === undefined || record.id > this.latest) this.latest = record.id;
  }

  #forget(): void {
    this.saved.clear();
    this.writes.clear();
    this.#branches.clear();
    this.#turns.clear();
    this.latest = undefined;
  }
}
