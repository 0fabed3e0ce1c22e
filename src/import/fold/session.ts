import { NO_TURN, type ContextId, type TurnId } from '../../base/brand.ts';
import { hashText } from '../../base/hash.ts';
import type {
  SessionDetails,
  Source,
  TakenAside,
  TakenPart,
  TakenTurn,
  TurnHead,
} from '../source/source.ts';
import { betterTitle } from './details.ts';
import { planTurn, type Attached, type PlannedTurn } from './externalise.ts';

// One session while it is imported: a fold over its records, in the order of the file. Each record changes the state
// by the same rule, whether it comes in the first run or in the hundredth, so an import that was cut off and one in
// one go end alike.
//
// Invariants
// - A record whose id is known changes nothing.
// - A slot is a context. The main slot holds the newest turn. When a turn does not follow the head of the main slot,
//   another slot keeps that head first, and then the main slot goes back: no turn is ever without a context.
// - Nothing here is written. `takeWork` hands out what is to be written, in order.

/** One turn, stored or planned. */
export interface Node {
  /** Undefined until it is stored. */
  turn: TurnId | undefined;
  /** The short id of its first record. */
  readonly key: string;
}

/** The place before the first turn. */
export const ROOT: Node = { turn: NO_TURN, key: '' };

export interface Slot {
  readonly number: number;
  context: ContextId | undefined;
  /** The newest turn, stored or planned. */
  head: Node;
  /** The head as the store has it. */
  storedHead: TurnId;
  /** False as long as the context only leads to turns of another session. */
  own: boolean;
}

export type Work =
  | { readonly do: 'create'; readonly slot: Slot; readonly at: Node }
  | {
      readonly do: 'append';
      readonly slot: Slot;
      readonly parent: Node;
      readonly turns: (PlannedTurn & { readonly node: Node })[];
    };

/** A record that is kept beside the turns. */
export interface Aside {
  readonly after: Node;
  readonly raw?: string;
  /** Bytes that are no record. */
  readonly bad?: string;
  /** A line that is too long to be read, as a blob. */
  readonly blob?: { readonly sha256: string; readonly hash: string };
}

/** Tokens of one day, model and project. */
export type UsageRow = [
  day: string,
  model: string,
  project: string,
  input: number,
  output: number,
  cacheRead: number,
  cacheWrite: number,
  turns: number,
];

/** A record whose name is settled. */
export interface NamedPart extends TakenPart {
  readonly id: string;
}
export interface NamedTurn extends TakenTurn {
  readonly parts: readonly NamedPart[];
}
export interface NamedAside extends TakenAside {
  readonly id: string;
}

interface Waiting {
  readonly item: NamedTurn | NamedAside;
  /** Where it begins in the file. */
  readonly offset: number;
  readonly attached?: readonly Attached[];
}

/** More records than this do not wait for their parents. */
const WAITING_MAX = 10_000;

/** Each id comes several times in a row: in its record, and in those that follow it. */
const recent = new Map<string, string>();
const RECENT_MAX = 4096;
const RECENT_CHARS_MAX = 64;

function shortId(id: string): string {
  const known = recent.get(id);
  if (known !== undefined) return known;
  const short = hashText(id).slice(0, 16);
  if (id.length > RECENT_CHARS_MAX) return short;
  if (recent.size >= RECENT_MAX) recent.clear();
  recent.set(id, short);
  return short;
}

export class Session {
  readonly name: string;
  readonly source: string;
  readonly slots: Slot[] = [];
  main = 0;
  /** The turn of the record before. */
  last: Node = ROOT;
  readonly ids: Map<string, Node> = new Map();
  details: SessionDetails = {};
  detailsChanged = false;
  /** The session that this one is a copy of, while all records so far are in it. */
  copied: Session | undefined;
  /** The ids of the first turn, by which copies find this session. */
  first: readonly string[] | undefined;

  work: Work[] = [];
  workBytes = 0;
  workTurns = 0;
  newIds: [string, Node][] = [];
  newAsides: Aside[] = [];
  readonly newUsage: Map<string, UsageRow> = new Map();
  readonly counts: { turns: number; forks: number; roots: number } = {
    turns: 0,
    forks: 0,
    roots: 0,
  };

  readonly #idsAreGlobal: boolean;
  readonly #waiting = new Map<string, Waiting[]>();
  #waitingCount = 0;
  /** Records whose parent has come, the next one last. A list, because a chain of them can be longer than the stack. */
  readonly #ready: Waiting[] = [];

  constructor(source: Pick<Source, 'name' | 'idsAreGlobal'>, name: string) {
    this.source = source.name;
    this.#idsAreGlobal = source.idsAreGlobal === true;
    this.name = name;
  }

  get isEmpty(): boolean {
    return this.slots.length === 0 && this.last === ROOT;
  }

  get isDirty(): boolean {
    return (
      this.work.length > 0 ||
      this.newIds.length > 0 ||
      this.newAsides.length > 0 ||
      this.detailsChanged
    );
  }

  /** The offset of the first record that waits for its parent. */
  get waitsFrom(): number | undefined {
    let first: number | undefined;
    for (const list of this.#waiting.values()) {
      for (const { offset } of list) first = Math.min(first ?? offset, offset);
    }
    return first;
  }

  find(id: string): Node | undefined {
    return this.ids.get(shortId(id));
  }

  /** The ids by which a turn is known in other sessions. */
  globalIds({ parts, alike = [] }: NamedTurn): readonly string[] {
    const own = this.#idsAreGlobal ? parts.map(({ id }) => id) : [];
    return [...own, ...alike].map(shortId);
  }

  /** True if the next turn decides whether this session is a copy of another one. */
  get wantsOrigin(): boolean {
    return this.isEmpty && this.copied === undefined;
  }

  /** Takes a record of the file, and those that have waited for it. */
  take(first: Waiting): void {
    for (let next: Waiting | undefined = first; next !== undefined; next = this.#ready.pop()) {
      if (next.item.do === 'aside') this.#takeAside(next.item, next);
      else this.#takeTurn(next.item, next);
    }
  }

  #takeTurn(item: NamedTurn, waiting: Waiting): void {
    if (item.before !== undefined) this.#register(shortId(item.before), this.last);
    const shorts = item.parts.map(({ id }) => shortId(id));
    const parts = item.parts.filter((_, index) => !this.ids.has(shorts[index] ?? ''));
    if (parts.length === 0) {
      this.last = this.ids.get(shorts.at(-1) ?? '') ?? this.last;
      return;
    }
    if (this.copied !== undefined && this.#followOrigin(item)) return;
    const goesOn = parts.length < item.parts.length;
    const parent = goesOn ? this.#head() : this.#parentOf(item);
    if (parent === undefined) return this.#wait(waiting);
    const twin = item.twin === undefined ? undefined : shortId(`${parent.key} ${item.twin}`);
    const same = twin === undefined ? undefined : this.ids.get(twin);
    if (same !== undefined) {
      this.#name(item, parts, same);
      return;
    }
    const node: Node = { turn: undefined, key: shortId(parts[0]?.id ?? '') };
    const planned = planTurn(this.source, item, parts, waiting.attached ?? []);
    this.#place(parent, { ...planned, node });
    if (!goesOn) this.#countUsage(item.head);
    this.counts.turns += 1;
    this.last = node;
    if (twin !== undefined) this.#register(twin, node);
    this.first ??= this.globalIds(item);
    this.#name(item, parts, node);
  }

  #takeAside(item: NamedAside, waiting: Waiting): void {
    const short = shortId(item.id);
    if (this.ids.has(short)) return;
    // The asides of a copy are those of the original.
    const copied = this.copied?.ids.get(short);
    const node = copied ?? this.#parentOf(item);
    if (node === undefined) return this.#wait(waiting);
    this.#register(short, node);
    if (copied === undefined) {
      this.newAsides.push({ after: node, raw: item.raw });
      if (item.head !== undefined) this.#countUsage(item.head);
    }
    this.#release([item]);
  }

  /** Begins as a copy of `origin`, after one of its turns or at its beginning. */
  copyFrom(origin: Session, at?: string): void {
    this.copied = origin;
    const node = at === undefined ? undefined : origin.find(at);
    if (node !== undefined) this.last = node;
  }

  /** The file has ended: what still waits begins anew, and a copy without turns of its own gets its context. */
  settle(): void {
    for (const [id, list] of this.#waiting) {
      this.#waiting.delete(id);
      this.#waitingCount -= list.length;
      this.counts.roots += list.length;
      for (const waiting of list)
        this.take({ ...waiting, item: { ...waiting.item, parent: null } });
    }
    if (this.slots.length > 0 || this.last === ROOT) return;
    this.#openSlot(this.last, false);
    this.counts.forks += 1;
  }

  describe(details: SessionDetails): void {
    const before = this.details as Readonly<Record<string, unknown>>;
    if (Object.entries(details).every(([name, value]) => before[name] === value)) return;
    const title = betterTitle(this.details.title, details.title);
    const more = { ...this.details.more, ...details.more };
    const next = {
      ...this.details,
      ...details,
      ...(title !== undefined && { title }),
      ...(Object.keys(more).length > 0 && { more }),
    };
    if (JSON.stringify(next) === JSON.stringify(this.details)) return;
    this.details = next;
    this.detailsChanged = true;
  }

  #parentOf({ parent }: NamedTurn | NamedAside): Node | undefined {
    if (parent === undefined) return this.last;
    if (parent === null) return ROOT;
    return this.find(parent) ?? this.copied?.find(parent);
  }

  /** True if the record is in the original, too. */
  #followOrigin(item: NamedTurn): boolean {
    const names = [...item.parts.map(({ id }) => id), ...(item.alike ?? [])];
    const node = names.map((id) => this.copied?.find(id)).find((found) => found !== undefined);
    if (node === undefined) {
      this.copied = undefined;
      return false;
    }
    this.last = node;
    this.#name(item, item.parts, node);
    return true;
  }

  #head(): Node {
    return this.slots[this.main]?.head ?? this.last;
  }

  #place(parent: Node, turn: PlannedTurn & { readonly node: Node }): void {
    let slot = this.slots[this.main];
    if (slot === undefined || (parent === ROOT && slot.head !== ROOT)) {
      if (slot !== undefined || parent !== ROOT) this.counts.forks += 1;
      slot = this.#openSlot(parent, true);
      this.main = slot.number;
    } else if (slot.head !== parent) {
      const other = this.slots.find(({ head }) => head === parent);
      if (other !== undefined) {
        slot = other;
        this.main = other.number;
      } else if (slot.own) {
        this.#openSlot(slot.head, true);
        this.counts.forks += 1;
      }
    }
    this.#append(slot, parent, turn);
  }

  #openSlot(at: Node, own: boolean): Slot {
    const slot: Slot = {
      number: this.slots.length,
      context: undefined,
      head: at,
      storedHead: NO_TURN,
      own,
    };
    this.slots.push(slot);
    this.work.push({ do: 'create', slot, at });
    this.detailsChanged = true;
    return slot;
  }

  #append(slot: Slot, parent: Node, turn: PlannedTurn & { readonly node: Node }): void {
    const before = this.work.at(-1);
    const bytes = turn.payload.length + turn.blobs.reduce((sum, b) => sum + b.bytes.length, 0);
    this.workBytes += bytes;
    this.workTurns += 1;
    const goesOn = before?.do === 'append' && before.slot === slot && slot.head === parent;
    if (goesOn) before.turns.push(turn);
    else this.work.push({ do: 'append', slot, parent, turns: [turn] });
    slot.head = turn.node;
    slot.own = true;
  }

  #name(item: NamedTurn, parts: readonly NamedPart[], node: Node): void {
    const names = [...parts.map(({ id }) => id), ...(item.ids ?? []), ...(item.alike ?? [])];
    for (const id of names) this.#register(shortId(id), node);
    this.#release(parts);
  }

  #register(short: string, node: Node): void {
    if (this.ids.has(short)) return;
    this.ids.set(short, node);
    this.newIds.push([short, node]);
  }

  #wait(waiting: Waiting): void {
    const id = String(waiting.item.parent);
    const others = this.#waiting.get(id);
    if (others === undefined) this.#waiting.set(id, [waiting]);
    else others.push(waiting);
    this.#waitingCount += 1;
    if (this.#waitingCount > WAITING_MAX) this.settle();
  }

  #release(parts: readonly { readonly id: string }[]): void {
    const freed = parts.flatMap(({ id }) => {
      const list = this.#waiting.get(id) ?? [];
      this.#waiting.delete(id);
      return list;
    });
    this.#waitingCount -= freed.length;
    for (const waiting of freed.toReversed()) this.#ready.push(waiting);
  }

  #countUsage({ usage, at, model }: TurnHead): void {
    if (usage === undefined) return;
    const day = at === undefined ? '' : new Date(at).toISOString().slice(0, 10);
    const { input, output, cacheRead, cacheWrite } = usage;
    const counts = [input, output, cacheRead, cacheWrite, 1];
    addUsage(this.newUsage, [[day, model ?? '', this.details.cwd ?? '', ...counts]]);
  }
}

/** Adds rows to sums by day, model and project. */
export function addUsage(sums: Map<string, UsageRow>, rows: readonly unknown[]): void {
  for (const row of rows) {
    if (!Array.isArray(row) || row.length !== 8) continue;
    const [day, model, project, ...counts] = row as UsageRow;
    const key = JSON.stringify([day, model, project]);
    const sum = sums.get(key) ?? [day, model, project, 0, 0, 0, 0, 0];
    for (const [index, count] of counts.entries()) sum[index + 3] = Number(sum[index + 3]) + count;
    sums.set(key, sum);
  }
}
