import { toContextId, type ContextId, type TurnId } from '../base/brand.ts';
import { checkSignal } from '../base/check-value.ts';
import { invalid, isQuipuError } from '../base/errors.ts';
import { jsonable } from '../base/jsonable.ts';
import type { Lifetime } from '../base/lifetime.ts';
import { kindOf } from '../base/text.ts';
import { toContext } from '../context/context.ts';
import { toPatch } from '../context/patches/patch-verbs.ts';
import { isOpen } from '../context/turns/read-turns.ts';
import { LazyTurn, viewTurn } from '../context/turn.ts';
import type { Change } from '../engine/batch.ts';
import { ChangeBell } from '../engine/change-bell.ts';
import type { Engine, Tips } from '../engine/engine.ts';
import type { TurnRow, ContextRow } from '../engine/rows.ts';
import type { StoreEvent, WatchFilter, WatchOptions } from './watch-event.ts';
import {
  PAGE_CONTEXTS,
  PAGE_RECORDS,
  planPage,
  readRecords,
  WatchPosition,
  type Due,
} from './watch-page.ts';

// A watch reads instead of queueing, as `follow` does. A commit only wakes the reader. The reader then reads the
// changes since its last look from the store, between two positions, a page at a time. So a slow reader costs a page
// and a few ids. A reader that comes back after a restart is like a slow one, and both get every turn once. The more
// changes came meanwhile, the more one read brings: a reader keeps up with any number of writers.

interface WatchPlan {
  readonly context: ContextId | undefined;
  readonly kinds: ReadonlySet<string> | undefined;
  readonly after: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** An event before it has its id. */
type Told = StoreEvent extends infer E
  ? E extends StoreEvent
    ? Omit<E, 'id' | 'toJSON'>
    : never
  : never;

export function checkWatch(filter: WatchFilter, options: WatchOptions): WatchPlan {
  const { context, kinds } = filter;
  const { after, signal } = options;
  if (kinds !== undefined && !Array.isArray(kinds)) {
    throw invalid('kinds', `must be an array of event kinds, got ${kindOf(kinds)}`);
  }
  if (after !== undefined && typeof after !== 'string') {
    throw invalid('after', `must be the id of an event, got ${kindOf(after)}`);
  }
  return {
    context: context === undefined ? undefined : toContextId(context),
    kinds: kinds === undefined ? undefined : new Set<string>(kinds),
    after,
    signal: checkSignal(signal),
  };
}

export async function* watchStore(
  engine: Engine,
  lifetime: Lifetime,
  plan: WatchPlan,
): AsyncGenerator<StoreEvent, void, undefined> {
  const trail = new WatchTrail();
  using bell = new ChangeBell(
    { engine, lifetime },
    {
      signal: plan.signal,
      hear(change) {
        trail.note(change);
        return true;
      },
      miss: () => trail.noteMissed(),
    },
  );
  try {
    const tips = await engine.tips();
    const { after } = plan;
    const position =
      after === undefined ? new WatchPosition(tips) : WatchPosition.parse(after, tips);
    const watch = { engine, plan, position, trail };
    yield { id: String(position), kind: after === undefined ? 'started' : 'resumed' };
    while (!bell.isOver) {
      for await (const told of tellNews(watch)) {
        if (bell.isOver) return;
        if (isAlwaysTold(told) || isWanted(plan, told.kind)) yield toEvent(told, String(position));
      }
      if (!bell.isOver) await bell.wait();
    }
  } catch (error) {
    if (!(lifetime.closed && isQuipuError(error, 'CLOSED'))) throw error;
  }
}

function toEvent(told: Told, id: string): StoreEvent {
  return told.kind === 'context.removed' ? jsonable({ ...told, id }) : { ...told, id };
}

function isWanted({ kinds }: WatchPlan, ...some: readonly StoreEvent['kind'][]): boolean {
  return kinds === undefined || some.some((kind) => kinds.has(kind));
}

/** True for an event about the reader itself. */
function isAlwaysTold({ kind }: Told): boolean {
  return kind === 'resumed' || kind === 'behind';
}

interface Watch {
  readonly engine: Engine;
  readonly plan: WatchPlan;
  /** The position moves past each event before the event is reported. */
  readonly position: WatchPosition;
  readonly trail: WatchTrail;
}

/** Reports everything up to now. All limits are of one moment, so that related events come in order. */
async function* tellNews(watch: Watch): AsyncGenerator<Told, void, undefined> {
  const { engine, plan, position, trail } = watch;
  const { changed, removed, missed } = trail.take();
  const now = await engine.tips();
  const known = position.context;
  if (missed) yield { kind: 'resumed' };
  skipUnwanted(watch, now);
  for (;;) {
    const due = planPage(position, now);
    if (due.length === 0) break;
    if (backlog(watch, now) > PAGE_RECORDS) {
      // Counted again, because a slow reader takes long for a page.
      yield { kind: 'behind', events: backlog(watch, await engine.tips()) };
    }
    yield* tellPage(watch, due);
  }
  yield* tellChanged(watch, changed, known);
  for (const contextId of removed) {
    if (isAbout(plan, contextId)) yield { kind: 'context.removed', contextId };
  }
}

function isAbout(plan: WatchPlan, context: ContextId): boolean {
  return plan.context === undefined || plan.context === context;
}

/** Skips records that are not reported: they need not be read. */
function skipUnwanted({ plan, position }: Watch, now: Tips): void {
  if (!wantsContexts(plan, position, now)) position.context = now.context;
  if (!wantsPatches(plan)) position.patch = now.patch;
  if (wantsTurns(plan)) return;
  position.turn = now.turn;
  position.open.clear();
  for (const id of now.open) position.open.add(id);
}

/** The number of records that the reader has yet to go through. */
function backlog({ plan, position }: Watch, tips: Tips): number {
  const contexts = wantsContexts(plan, position, tips) ? tips.context - position.context : 0n;
  const turns = wantsTurns(plan) ? tips.turn - position.turn : 0n;
  return Number(contexts + turns) + (wantsPatches(plan) ? tips.patch - position.patch : 0);
}

function wantsContexts(plan: WatchPlan, { context }: WatchPosition, now: Tips): boolean {
  if (!isWanted(plan, 'context.created', 'context.updated', 'unreadable')) return false;
  return plan.context === undefined || (plan.context > context && plan.context <= now.context);
}

function wantsTurns(plan: WatchPlan): boolean {
  return isWanted(plan, 'turn.appended', 'turn.opened', 'turn.sealed', 'unreadable');
}

function wantsPatches(plan: WatchPlan): boolean {
  return isWanted(plan, 'patch.added', 'unreadable');
}

async function* tellPage(watch: Watch, due: readonly Due[]): AsyncGenerator<Told, void, undefined> {
  const { engine, plan, position } = watch;
  const read = await readRecords(engine, due);
  const patched = read.flatMap((row) => (typeof row === 'object' && 'seq' in row ? row.turn : []));
  const about = await turnsAbout(watch, patched);
  for (const [at, one] of due.entries()) {
    pass(position, one);
    const row = read[at];
    // A turn that nothing led to any more may have been collected meanwhile.
    if (row === undefined) continue;
    if (row === 'damaged') {
      if (one.what !== 'context' || isAbout(plan, one.id)) {
        yield { kind: 'unreadable', what: one.what, number: String(one.id) };
      }
    } else if ('seq' in row) {
      if (about === undefined || about.has(row.turn)) {
        yield { kind: 'patch.added', patch: toPatch(row) };
      }
    } else if ('parent' in row) {
      if (isOpen(row)) position.open.add(row.id);
      if (isAbout(plan, row.context)) yield toTurnEvent(row, one.what === 'turn' && one.sealed);
    } else if (isAbout(plan, row.id)) {
      watch.trail.noteCreated(row);
      yield { kind: 'context.created', context: toContext(row) };
    }
  }
}

function pass(position: WatchPosition, due: Due): void {
  if (due.what === 'context') position.context = due.id;
  else if (due.what === 'patch') position.patch = due.id;
  else if (due.sealed) position.open.delete(due.id);
  else position.turn = due.id;
}

function toTurnEvent(row: TurnRow, sealed: boolean): Told {
  const turn = new LazyTurn(viewTurn(row, undefined), {});
  if (isOpen(row)) return { kind: 'turn.opened', turn };
  return { kind: sealed ? 'turn.sealed' : 'turn.appended', turn };
}

/** Those of the turns that belong to the one context that is watched; undefined when all contexts are. */
async function turnsAbout(
  { engine, plan }: Watch,
  turns: readonly TurnId[],
): Promise<ReadonlySet<TurnId> | undefined> {
  if (plan.context === undefined) return undefined;
  const due = [...new Set(turns)].map((id) => ({ what: 'turn', id, sealed: false }) as const);
  const rows = (await readRecords(engine, due)) as (TurnRow | 'damaged' | undefined)[];
  return new Set(
    rows.flatMap((row) => (typeof row === 'object' && row.context === plan.context ? row.id : [])),
  );
}

async function* tellChanged(
  { engine, plan, trail }: Watch,
  changed: ReadonlySet<ContextId>,
  known: bigint,
): AsyncGenerator<Told, void, undefined> {
  if (!isWanted(plan, 'context.updated')) return;
  const due = [...changed]
    .filter((id) => isAbout(plan, id))
    .toSorted((a, b) => Number(a - b))
    .map((id) => ({ what: 'context', id }) as const);
  for (let at = 0; at < due.length; at += PAGE_CONTEXTS) {
    const page = due.slice(at, at + PAGE_CONTEXTS);
    const read = (await readRecords(engine, page)) as (ContextRow | 'damaged' | undefined)[];
    for (const [nth, { id }] of page.entries()) {
      const row = read[nth];
      if (row === 'damaged') {
        yield { kind: 'unreadable', what: 'context', number: String(id) };
        continue;
      }
      // A change of a context that was just reported as created is part of that report.
      const isTold = trail.isTold(id, row) || id > known;
      if (row !== undefined && !isTold) {
        yield { kind: 'context.updated', context: toContext(row) };
      }
    }
  }
}

/** Contexts remembered for a busy reader. With more, the reader is told that it missed some. */
const NOTED_MAX = 10_000;

/** Facts that cannot be read back later: the contexts that were changed or removed since the last look. */
interface Noted {
  readonly changed: ReadonlySet<ContextId>;
  readonly removed: ReadonlySet<ContextId>;
  /** True when there were too many, or when changes were not heard. */
  readonly missed: boolean;
}

class WatchTrail {
  #changed = new Set<ContextId>();
  #removed = new Set<ContextId>();
  #missed = false;
  /** Contexts reported as created before their change was heard, with the details that were reported. */
  readonly #ahead: Map<ContextId, string> = new Map();

  note(change: Change): void {
    for (const { id } of change.contexts) this.#changed.add(id);
    for (const id of change.removedContexts) {
      this.#changed.delete(id);
      this.#removed.add(id);
    }
    if (this.#changed.size + this.#removed.size <= NOTED_MAX) return;
    this.noteMissed();
  }

  /** Notes a context that was read, and so may be reported, before its change arrives from another server. */
  noteCreated(row: ContextRow): void {
    if (this.#ahead.size < NOTED_MAX) this.#ahead.set(row.id, said(row));
  }

  /** True when a change of this context is the one that was reported with its creation. Asked once for each context. */
  isTold(id: ContextId, row: ContextRow | undefined): boolean {
    const told = this.#ahead.get(id);
    this.#ahead.delete(id);
    return told !== undefined && row !== undefined && told === said(row);
  }

  noteMissed(): void {
    this.#ahead.clear();
    this.#changed.clear();
    this.#removed.clear();
    this.#missed = true;
  }

  take(): Noted {
    const noted = { changed: this.#changed, removed: this.#removed, missed: this.#missed };
    this.#changed = new Set();
    this.#removed = new Set();
    this.#missed = false;
    return noted;
  }
}

function said({ meta }: ContextRow): string {
  return JSON.stringify(meta);
}
