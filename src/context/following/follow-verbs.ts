import { NO_TURN, toContextId, toTurnId } from '../../base/brand.ts';
import type { ContextId, ContextIdLike, TurnId } from '../../base/brand.ts';
import { invalid, isQuipuError } from '../../base/errors.ts';
import { checkAfter, checkCount, checkRead } from '../check-input.ts';
import { kindOf } from '../../base/text.ts';
import type { ContextsParts, ReadPage } from '../turns/loaded-page.ts';
import type { Contexts, FollowOptions, MovedHead } from '../contexts.ts';
import { STREAM_BYTES_DEFAULT } from '../limits.ts';
import type { Turn } from '../turn.ts';
import type { Engine } from '../../engine/engine.ts';
import type { TurnRow } from '../../engine/rows.ts';
import { Bell } from '../../base/bell.ts';
import type { CheckedRead } from '../check-input.ts';
import { HeadTrail, LOOK } from './head-trail.ts';
import { mustGetSealed, mustGetTurn, noContext, readTurn } from '../turns/read-turns.ts';
import { PAGE_TURNS, walkChain } from '../turns/walk-chain.ts';
import { DeltaTail, bytesAfter } from '../streams/delta-tail.ts';
import type { Lifetime } from '../../base/lifetime.ts';

type FollowVerbs = Pick<Contexts, 'follow' | 'followOpen'>;

export function followVerbs(parts: ContextsParts): FollowVerbs {
  const { engine, lifetime } = parts;
  return {
    follow(
      id: ContextIdLike,
      options: FollowOptions & { readonly moves?: boolean } = {},
    ): AsyncIterable<Turn> {
      lifetime.assertOpen('contexts.follow');
      const items = followContext(parts, {
        context: toContextId(id),
        after: checkAfter(options.after),
        signal: checkSignal(options.signal),
        openTurns: options.openTurns ?? false,
        moves: options.moves ?? false,
        onBehind: options.onBehind,
        read: checkRead(options, STREAM_BYTES_DEFAULT),
      });
      // Without `moves` there is nothing but turns.
      return items as AsyncIterable<Turn>;
    },

    followOpen(turn, { after = 0, signal } = {}) {
      lifetime.assertOpen('contexts.followOpen');
      checkCount(after, 'after', Number.MAX_SAFE_INTEGER);
      const plan = { id: toTurnId(turn), after, signal: checkSignal(signal) };
      return followOpenTurn(engine, lifetime, plan);
    },
  };
}

function checkSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw invalid('signal', `must be an AbortSignal, got ${kindOf(signal)}`);
}

// Reads instead of queueing: while the reader is busy, a change is remembered as a position, and its turns are walked
// to when the reader asks again. So a slow reader costs a few ids, not payloads.

interface FollowPlan {
  readonly context: ContextId;
  /** `NO_TURN` to begin at the root. */
  readonly after: TurnId;
  readonly signal: AbortSignal | undefined;
  readonly openTurns: boolean;
  /** Also yield the moves of the head. */
  readonly moves: boolean;
  readonly onBehind: ((turns: number) => void) | undefined;
  readonly read: CheckedRead;
}

async function* followContext(
  { engine, lifetime, readPage }: ContextsParts,
  plan: FollowPlan,
): AsyncGenerator<Turn | MovedHead, void, undefined> {
  const bell = new Bell();
  const trail = new HeadTrail(plan.context);
  const ring = (): void => bell.ring();
  const isOver = (): boolean => lifetime.closed || plan.signal?.aborted === true;
  // Listening begins before the first look, so nothing falls between the two.
  const stops = [
    engine.subscribe(
      (change) => {
        if (trail.note(change)) bell.ring();
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
    for await (const turn of followTrail(engine, { ...plan, readPage, bell, trail, isOver })) {
      if (isOver()) return;
      yield turn;
    }
  } catch (error) {
    if (!(lifetime.closed && isQuipuError(error, 'CLOSED'))) throw error;
  } finally {
    for (const stop of stops) stop();
  }
}

interface TrailPlan extends FollowPlan {
  readonly readPage: ReadPage;
  readonly bell: Bell;
  readonly trail: HeadTrail;
  readonly isOver: () => boolean;
}

async function* followTrail(
  engine: Engine,
  plan: TrailPlan,
): AsyncGenerator<Turn | MovedHead, void, undefined> {
  const { trail } = plan;
  let last = plan.after === NO_TURN ? undefined : await mustGetSealed(engine, plan.after);
  let head = await look(engine, plan);
  if (head === undefined) throw noContext(plan.context);
  let isMoved = true;
  let opened = trail.takeOpened();
  let shownOpen: TurnId = NO_TURN;
  while (!plan.isOver()) {
    if (head !== undefined) {
      const tip: TurnRow | undefined =
        head === NO_TURN ? undefined : await mustGetSealed(engine, head);
      const base = await findBase(engine, last, tip);
      // The parent of a new turn tells as much.
      if (isMoved && base?.id !== last?.id && plan.moves) yield movedTo(base);
      if (tip !== undefined) yield* walkTo(plan, tip, base === undefined ? 0 : base.depth + 1);
      last = tip;
    }
    const step = trail.take();
    isMoved = step === LOOK;
    head = step === LOOK ? await look(engine, plan) : step;
    if (step !== undefined) continue;

    if (plan.openTurns && opened > shownOpen) {
      const turn = await readTurn(engine, opened, plan.read);
      if (turn?.state === 'open') yield turn;
      shownOpen = opened;
    }
    opened = trail.takeOpened();
    if (opened > shownOpen) continue;

    if (trail.removed) return;
    await plan.bell.wait();
  }
}

/** Reads where the head is. Undefined when the context is not there. */
async function look(engine: Engine, { context, trail }: TrailPlan): Promise<TurnId | undefined> {
  trail.beginLook();
  const found = await engine.getHead(context);
  trail.endLook(found);
  return found?.head;
}

/** The deepest turn that both have in common. */
async function findBase(
  engine: Engine,
  last: TurnRow | undefined,
  tip: TurnRow | undefined,
): Promise<TurnRow | undefined> {
  if (last === undefined || tip === undefined) return undefined;
  return tip.parent === last.id ? last : engine.commonAncestor(last.id, tip.id);
}

/** Yields the turns from depth `from` up to `tip`. */
function walkTo(plan: TrailPlan, tip: TurnRow, from: number): AsyncIterable<Turn> {
  const beforePage = (depth: number): void => {
    const turns = Math.max(tip.depth, plan.trail.newestDepth) - depth + 1;
    if (turns > PAGE_TURNS) plan.onBehind?.(turns);
  };
  return walkChain(plan.readPage, tip, plan.read, { from, beforePage });
}

function movedTo(base: TurnRow | undefined): MovedHead {
  const [backTo, depth] = [base?.id ?? NO_TURN, base?.depth ?? 0];
  return { backTo, depth, toJSON: () => ({ backTo: String(backTo), depth }) };
}

const TAIL_BYTES_MAX = 1_048_576;
const READ: CheckedRead = { payload: true, as: 'original', maxBytes: 0 };

interface OpenTurnPlan {
  readonly id: TurnId;
  /** Begin after this many bytes. */
  readonly after: number;
  readonly signal: AbortSignal | undefined;
}

/** Yields the bytes of a turn as they become durable. A sealed turn gives its payload and ends. */
async function* followOpenTurn(
  engine: Engine,
  lifetime: Lifetime,
  { id, after, signal }: OpenTurnPlan,
): AsyncGenerator<Uint8Array, void, undefined> {
  const bell = new Bell();
  const tail = new DeltaTail(TAIL_BYTES_MAX);
  const ring = (): void => bell.ring();
  const stops = [
    engine.subscribe(
      (change) => {
        const deltas = change.deltas.filter((delta) => delta.turn === id);
        for (const delta of deltas) tail.add(delta);
        const sealed = change.sealed.some((row) => row.id === id);
        if (sealed) tail.drop();
        if (sealed || deltas.length > 0) bell.ring();
      },
      () => {
        tail.drop();
        bell.ring();
      },
    ),
    lifetime.onClose(ring),
    () => signal?.removeEventListener('abort', ring),
  ];
  signal?.addEventListener('abort', ring);
  try {
    await mustGetTurn(engine, id);
    let sent = after;
    while (!lifetime.closed && signal?.aborted !== true) {
      const { bytes, sealed } = await nextBytes(engine, id, sent, tail);
      sent += bytes.length;
      if (bytes.length > 0) yield bytes;
      if (sealed) return;
      await bell.wait();
    }
  } catch (error) {
    if (!(lifetime.closed && isQuipuError(error, 'CLOSED'))) throw error;
  } finally {
    for (const stop of stops) stop();
  }
}

async function nextBytes(
  engine: Engine,
  id: TurnId,
  sent: number,
  tail: DeltaTail,
): Promise<{ bytes: Uint8Array; sealed: boolean }> {
  const deltas = tail.take();
  const fresh = deltas && bytesAfter(sent, deltas);
  if (fresh !== undefined) return { bytes: fresh, sealed: false };
  const turn = await readTurn(engine, id, READ);
  return {
    // A copy, when it is a part: a reader that waits must not hold the whole.
    bytes: (sent === 0 ? turn?.bytes : turn?.bytes?.slice(sent)) ?? new Uint8Array(),
    sealed: turn?.state !== 'open',
  };
}
