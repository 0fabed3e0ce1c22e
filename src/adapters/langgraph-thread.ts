import { NO_TURN } from '../base/brand.ts';
import type { ContextId, TurnId } from '../base/brand.ts';
import { OneAtATime } from '../base/one-at-a-time.ts';
import type { Context } from '../context/context.ts';
import type { NewTurn } from '../context/contexts.ts';
import type { Turn } from '../context/turn.ts';
import type { Store } from '../store/store.ts';
import { contextsUnder, joinName } from './shared.ts';
import { VALUE } from './langgraph-values.ts';
import type { Piece, Value, Values } from './langgraph-values.ts';

// The records of one thread and namespace of LangGraph, as this process knows them.
// Invariants
// - Each branch is a context, `<name>/0` the first. The context `<name>/writes` has the pending writes of all of them.
// - A checkpoint says how its values differ from those of the checkpoint before it in its branch, or has all of them.
// - Only what is durable is here. `refresh` reads what other processes have added.

/** The values of all channels. */
export type State = ReadonlyMap<string, Value>;

/** The pieces that stay at the start and at the end of the list before, and those between them. */
type ListChange = readonly [keep: number, tail: number, ...added: Piece[]];
type Change = Piece | ListChange;

export interface CheckpointRecord {
  readonly id: string;
  readonly parent?: string;
  /** True when nothing is taken over from the checkpoint before. */
  readonly full: boolean;
  readonly checkpoint: Piece;
  readonly metadata: Piece;
  /** Null for a channel that is gone. */
  readonly values: readonly (readonly [channel: string, change: Change | null])[];
}

export interface WritesRecord {
  readonly checkpoint: string;
  readonly task: string;
  readonly writes: readonly (readonly [index: number, channel: string, value: Change])[];
}

/** A checkpoint in its branch. */
export interface Saved {
  /** Undefined when it was erased. */
  readonly record: CheckpointRecord | undefined;
  readonly turn: TurnId;
  readonly depth: number;
  readonly before: Saved | undefined;
}

export type Write = readonly [task: string, channel: string, value: Value];

interface Branch {
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
const KIND = 'langgraph';
const LOG = 'writes';
/** Longer values are read when somebody asks for them. */
const READ_BYTES = 65_536;
/** With more branches one listing is faster than a lookup of each. */
const LOOKUPS_MAX = 8;

export class Thread {
  readonly parts: readonly [prefix: string, id: string, namespace: string];
  readonly saved: Map<string, Saved> = new Map();
  readonly writes: Map<string, Map<string, Write>> = new Map();
  /** The newest checkpoint, by its id. */
  latest: string | undefined;
  readonly #store: Store;
  readonly #values: Values;
  readonly #branches = new Map<ContextId, Branch>();
  /** Those of the newest checkpoints. The others are made from records: all together would fill the memory. */
  readonly #states = new Map<Saved, State>();
  readonly #readers = new OneAtATime<Thread>();
  #nextBranch = 0;

  /** `values` gets each value that has a turn of its own. */
  constructor(store: Store, parts: Thread['parts'], values: Values) {
    this.#store = store;
    this.parts = parts;
    this.#values = values;
  }

  /** Reads what is new in the store, one reader at a time. Finds new branches by their numbers or by a listing. */
  async refresh(find: 'next' | 'all' = 'next'): Promise<void> {
    await this.#readers.run(this, async () => {
      const isFew = this.#branches.size > 0 && this.#nextBranch < LOOKUPS_MAX;
      const looked = find === 'next' && isFew ? await this.#lookUp() : undefined;
      const found = looked ?? (await contextsUnder(this.#store, ...this.parts));
      const ids = new Set(found.map(({ id }) => id));
      if ([...this.#branches.keys()].some((id) => !ids.has(id))) this.#forget();
      for (const context of found) await this.#readOn(context, this.#branchOf(context));
    });
  }

  /** Returns the branch that ends with this checkpoint, or a new one that begins there. */
  async branchAt(base: Saved | undefined): Promise<Branch> {
    const free = [...this.#branches.values()].find(
      ({ isLog, head, tip }) => !isLog && tip === base && (base !== undefined || head === NO_TURN),
    );
    if (free !== undefined) return free;
    const name = joinName(...this.parts, String(this.#nextBranch));
    const details = { name, kind: KIND, ...(base !== undefined && { base: base.turn }) };
    return this.#branchOf(await this.#store.contexts.create(details));
  }

  /** Returns the log of pending writes. */
  async log(): Promise<Branch> {
    if (this.#log !== undefined) return this.#log;
    const name = joinName(...this.parts, LOG);
    return this.#branchOf(await this.#store.contexts.getOrCreate(name, { kind: KIND }));
  }

  /** `state` is that of the checkpoint among the turns. */
  async append(branch: Branch, turns: readonly NewTurn[], state?: State): Promise<void> {
    const expected = branch.isLog ? {} : { expectedHead: branch.head };
    const appended = await this.#store.contexts.appendBatch(branch.id, turns, expected);
    // The payloads are at hand: to decode them again took a tenth of the time of a put.
    for (const [at, turn] of appended.entries()) this.#absorb(branch, turn, turns[at]?.payload);
    // Somebody else's checkpoint may be the newest by now.
    const last = appended.at(-1)?.id;
    if (state && branch.tip && branch.tip.turn === last) this.#keep(branch.tip, state);
  }

  /** Returns the values of a checkpoint; undefined when a record that they build on was erased. */
  stateOf(saved: Saved): State | undefined {
    const known = this.#states.get(saved);
    if (known !== undefined) return known;
    const records: CheckpointRecord[] = [];
    let at: Saved | undefined = saved;
    for (; at !== undefined && !this.#states.has(at); at = at.before) {
      if (at.record === undefined) return undefined;
      records.push(at.record);
      if (at.record.full) break;
    }
    if (at === undefined) return undefined;
    const state = changedBy(records, this.#states.get(at) ?? new Map<string, Value>());
    this.#keep(saved, state);
    return state;
  }

  #keep(saved: Saved, state: State): void {
    const tips = new Set([...this.#branches.values()].map(({ tip }) => tip));
    if (tips.has(saved)) this.#states.set(saved, state);
    for (const known of this.#states.keys()) if (!tips.has(known)) this.#states.delete(known);
  }

  /**
   * Returns the known branches; undefined if one is gone or another is new. A listing makes the engine write its index
   * first, which took longer than reading a checkpoint.
   */
  async #lookUp(): Promise<Context[] | undefined> {
    const unknown = [String(this.#nextBranch), ...(this.#log === undefined ? [LOG] : [])];
    const names = unknown.map((last) => joinName(...this.parts, last));
    const { contexts } = this.#store;
    const [found, known] = await Promise.all([
      Promise.all(names.map((name) => contexts.byName(name))),
      Promise.all([...this.#branches.keys()].map((id) => contexts.get(id))),
    ]);
    const isAll = found.every((context) => context === undefined);
    return isAll && known.every((context) => context !== undefined) ? known : undefined;
  }

  get #log(): Branch | undefined {
    return [...this.#branches.values()].find(({ isLog }) => isLog);
  }

  #branchOf({ id, base, name = '' }: Context): Branch {
    const known = this.#branches.get(id);
    if (known !== undefined) return known;
    const last = name.slice(name.lastIndexOf('/') + 1);
    const isLog = last === LOG;
    if (!isLog) this.#nextBranch = Math.max(this.#nextBranch, Number(last) + 1);
    const tip = [...this.saved.values()].find(({ turn }) => turn === base);
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
        if (whole !== undefined) this.#absorb(branch, whole, whole.payload);
      }
      from = page.nextDepth;
    }
  }

  /** Takes the next turn of a branch. Others are known already, or are read later, in their order. */
  #absorb(branch: Branch, turn: Turn, payload: unknown): void {
    if (turn.depth !== branch.next) return;
    branch.head = turn.id;
    branch.next += 1;
    if (turn.type === CHECKPOINT) this.#takeCheckpoint(branch, turn, payload);
    else if (turn.type === WRITES && payload !== undefined)
      this.#takeWrites(payload as WritesRecord);
    else if (turn.type === VALUE && typeof payload === 'string')
      this.#values.remember(turn.payloadHash ?? '', payload);
  }

  #takeCheckpoint(branch: Branch, { id: turn, depth }: Turn, payload: unknown): void {
    const record = payload as CheckpointRecord | undefined;
    const known = this.saved.get(record?.id ?? '');
    branch.tip = known?.turn === turn ? known : { record, turn, depth, before: branch.tip };
    if (record === undefined) return;
    this.saved.set(record.id, branch.tip);
    if (this.latest === undefined || record.id > this.latest) this.latest = record.id;
  }

  #takeWrites({ checkpoint, task, writes }: WritesRecord): void {
    const all = this.writes.get(checkpoint) ?? new Map<string, Write>();
    this.writes.set(checkpoint, all);
    for (const [index, channel, change] of writes) {
      const key = JSON.stringify([task, index]);
      const value = typeof change === 'string' ? change : (change.slice(2) as Piece[]);
      // LangGraph numbers what may be written again below zero.
      if (index < 0 || !all.has(key)) all.set(key, [task, channel, value]);
    }
  }

  #forget(): void {
    this.saved.clear();
    this.writes.clear();
    this.#branches.clear();
    this.#states.clear();
    this.latest = undefined;
  }
}

/** Returns the values after these records, the newest of which is the first. */
export function changedBy(
  records: readonly Pick<CheckpointRecord, 'values'>[],
  before: State,
): State {
  const state = new Map(before);
  const made = new Set<unknown>();
  for (const [channel, change] of records.toReversed().flatMap(({ values }) => values)) {
    if (change === null) state.delete(channel);
    else if (typeof change === 'string') state.set(channel, change);
    else {
      const [keep, tail, ...added] = change;
      const old = state.get(channel);
      const list = made.has(old) ? (old as Piece[]) : typeof old === 'object' ? [...old] : [];
      // One by one: the arguments of a call have a bound, and a list may be longer.
      const rest = list.splice(keep);
      for (const piece of added) list.push(piece);
      for (const piece of rest.slice(rest.length - tail)) list.push(piece);
      made.add(list);
      state.set(channel, list);
    }
  }
  return state;
}

/** Returns what leads from the values before to those after. */
export function changesOf(before: State, after: State): CheckpointRecord['values'] {
  const changes: [string, Change | null][] = [];
  for (const channel of before.keys()) if (!after.has(channel)) changes.push([channel, null]);
  for (const [channel, value] of after) {
    const old = before.get(channel);
    if (value === old) continue;
    const change = typeof value === 'string' ? value : listChange(old, value);
    if (change !== undefined) changes.push([channel, change]);
  }
  return changes;
}

function listChange(old: Value | undefined, list: readonly Piece[]): ListChange | undefined {
  const before = typeof old === 'object' ? old : [];
  const shorter = Math.min(before.length, list.length);
  let keep = 0;
  while (keep < shorter && before[keep] === list[keep]) keep += 1;
  if (typeof old === 'object' && keep === old.length && keep === list.length) return undefined;
  let tail = 0;
  while (tail < shorter - keep && before.at(-1 - tail) === list.at(-1 - tail)) tail += 1;
  return [keep, tail, ...list.slice(keep, list.length - tail)];
}
