import { toContextId } from '../base/brand.ts';
import type { ContextId, TurnId } from '../base/brand.ts';
import { invalid, isQuipuError } from '../base/errors.ts';
import { viewTurn } from '../context/apply-patches.ts';
import { Bell } from '../base/bell.ts';
import { kindOf } from '../base/check-text.ts';
import { LazyTurn } from '../context/lazy-turn.ts';
import type { Lifetime } from '../base/lifetime.ts';
import { isOpen } from '../context/read-turns.ts';
import { StoredContext } from '../context/stored-context.ts';
import { StoredPatch } from '../context/stored-patch.ts';
import type { Engine, Tips } from '../engine/engine.ts';
import type { StoreEvent, WatchFilter, WatchOptions } from './watch-event.ts';
import { WatchPosition } from './watch-position.ts';
import { WatchTrail } from './watch-trail.ts';

// Reads instead of queueing, as `follow` does: a commit only rings, and what became true since the
// last look is read from the store between two positions. So a slow reader costs a few ids, a reader
// that comes back after a restart is one that was slow, and both get every turn once.

export interface WatchPlan {
  readonly context: ContextId | undefined;
  readonly kinds: ReadonlySet<string> | undefined;
  readonly after: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** An event before it has its id. */
type Told = StoreEvent extends infer E ? (E extends StoreEvent ? Omit<E, 'id'> : never) : never;

export function checkWatch(filter: WatchFilter, options: WatchOptions): WatchPlan {
  const { context, kinds } = filter;
  const { after, signal } = options;
  if (kinds !== undefined && !Array.isArray(kinds)) {
    throw invalid('kinds', `is an array of event kinds, got ${kindOf(kinds)}`);
  }
  if (after !== undefined && typeof after !== 'string') {
    throw invalid('after', `is the id of an event, got ${kindOf(after)}`);
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalid('signal', `is an AbortSignal, got ${kindOf(signal)}`);
  }
  return {
    context: context === undefined ? undefined : toContextId(context),
    kinds: kinds === undefined ? undefined : new Set<string>(kinds),
    after,
    signal,
  };
}

export async function* watchStore(
  engine: Engine,
  lifetime: Lifetime,
  plan: WatchPlan,
): AsyncGenerator<StoreEvent, void, undefined> {
  const bell = new Bell();
  const trail = new WatchTrail();
  const ring = (): void => bell.ring();
  const isOver = (): boolean => lifetime.closed || plan.signal?.aborted === true;
  // Listening comes before the first look, so nothing falls between the two.
  const stops = [
    engine.subscribe(
      (change) => {
        trail.note(change);
        bell.ring();
      },
      () => {
        trail.noteMissed();
        bell.ring();
      },
    ),
    lifetime.onClose(ring),
    () => plan.signal?.removeEventListener('abort', ring),
  ];
  plan.signal?.addEventListener('abort', ring);
  try {
    const tips = await engine.tips();
    const { after } = plan;
    const position =
      after === undefined ? new WatchPosition(tips) : WatchPosition.parse(after, tips);
    const watch = { engine, plan, position, trail };
    yield { id: String(position), kind: after === undefined ? 'started' : 'resumed' };
    while (!isOver()) {
      for await (const told of tellNews(watch)) {
        if (isOver()) return;
        if (isWanted(plan, told)) yield { ...told, id: String(position) };
      }
      if (!isOver()) await bell.wait();
    }
  } catch (error) {
    if (!(lifetime.closed && isQuipuError(error, 'CLOSED'))) throw error;
  } finally {
    for (const stop of stops) stop();
  }
}

function isWanted(plan: WatchPlan, { kind }: Told): boolean {
  return plan.kinds === undefined || kind === 'resumed' || plan.kinds.has(kind);
}

interface Watch {
  readonly engine: Engine;
  readonly plan: WatchPlan;
  /** Moves past each event before it is told. */
  readonly position: WatchPosition;
  readonly trail: WatchTrail;
}

/**
 * Everything up to now. Contexts come before their turns, the end of a turn before what was appended
 * after it, and a turn before its patches, because all limits are of one moment.
 */
async function* tellNews(watch: Watch): AsyncGenerator<Told, void, undefined> {
  const { changed, removed, missed } = watch.trail.take();
  const now = await watch.engine.tips();
  const known = watch.position.context;
  if (missed) yield { kind: 'resumed' };
  yield* tellContexts(watch, now);
  yield* tellSealed(watch, now);
  yield* tellTurns(watch, now);
  yield* tellPatches(watch, now);
  for (const id of changed) {
    if (!isAbout(watch.plan, id)) continue;
    const row = await watch.engine.getContext(id);
    // A change of one that was just told as created is part of what was told.
    const isTold = watch.trail.isTold(id, row) || id > known;
    if (row !== undefined && !isTold) {
      yield { kind: 'context.updated', context: new StoredContext(row) };
    }
  }
  for (const contextId of removed) {
    if (isAbout(watch.plan, contextId)) yield { kind: 'context.removed', contextId };
  }
}

function isAbout(plan: WatchPlan, context: ContextId): boolean {
  return plan.context === undefined || plan.context === context;
}

async function* tellContexts(watch: Watch, now: Tips): AsyncGenerator<Told, void, undefined> {
  const { engine, plan, position } = watch;
  while (position.context < now.context) {
    position.context += 1n;
    const id = toContextId(position.context);
    if (!isAbout(plan, id)) continue;
    const row = await readOr(() => engine.getContext(id));
    if (row === 'damaged') yield { kind: 'unreadable', what: 'context', number: String(id) };
    if (row === 'damaged' || row === undefined) continue;
    watch.trail.noteCreated(row);
    yield { kind: 'context.created', context: new StoredContext(row) };
  }
}

async function* tellSealed(watch: Watch, now: Tips): AsyncGenerator<Told, void, undefined> {
  const { position } = watch;
  const stillOpen = new Set(now.open);
  for (const id of position.open) {
    if (stillOpen.has(id)) continue;
    position.open.delete(id);
    yield* tellTurn(watch, id, 'turn.sealed');
  }
}

async function* tellTurns(watch: Watch, now: Tips): AsyncGenerator<Told, void, undefined> {
  const { position } = watch;
  while (position.turn < now.turn) {
    position.turn += 1n;
    yield* tellTurn(watch, position.turn as TurnId, 'turn.appended');
  }
}

async function* tellTurn(
  { engine, plan, position }: Watch,
  id: TurnId,
  kind: 'turn.appended' | 'turn.sealed',
): AsyncGenerator<Told, void, undefined> {
  const row = await readOr(() => engine.getTurn(id));
  // A turn that nothing led to any more may have been collected meanwhile.
  if (row === undefined) return;
  if (row === 'damaged') {
    yield { kind: 'unreadable', what: 'turn', number: String(id) };
    return;
  }
  if (isOpen(row)) position.open.add(id);
  if (!isAbout(plan, row.context)) return;
  const turn = new LazyTurn(viewTurn(row, undefined), {});
  yield { kind: isOpen(row) ? 'turn.opened' : kind, turn };
}

async function* tellPatches(watch: Watch, now: Tips): AsyncGenerator<Told, void, undefined> {
  const { engine, plan, position } = watch;
  while (position.patch < now.patch) {
    position.patch += 1;
    const row = await readOr(() => engine.getPatch(position.patch));
    if (row === undefined) continue;
    if (row === 'damaged') {
      yield { kind: 'unreadable', what: 'patch', number: String(position.patch) };
      continue;
    }
    const turn = plan.context && (await readOr(() => engine.getTurn(row.turn)));
    if (turn !== undefined && (turn === 'damaged' || turn.context !== plan.context)) continue;
    yield { kind: 'patch.added', patch: new StoredPatch(row) };
  }
}

/** A damaged record holds up neither what comes after it nor the reader's position. */
async function readOr<T>(read: () => Promise<T | undefined>): Promise<T | 'damaged' | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isQuipuError(error, 'CORRUPT')) return 'damaged';
    throw error;
  }
}
