import { NO_TURN, toContextId, toTurnId } from '../../base/brand.ts';
import type { ContextId, ContextIdLike, TurnId } from '../../base/brand.ts';
import { isQuipuError } from '../../base/errors.ts';
import { checkAfter, checkRead, type CheckedRead } from '../check-input.ts';
import { checkSignal, checkWhole } from '../../base/check-value.ts';
import { leavable } from '../../base/leavable.ts';
import { PAGE_TURNS, walkChain, type ContextsParts, type ReadPage } from '../turns/loaded-page.ts';
import type { Contexts, FollowOptions, MovedHead } from '../contexts.ts';
import { STREAM_BYTES_DEFAULT } from '../limits.ts';
import type { Turn } from '../turn.ts';
import { ChangeBell } from '../../engine/change-bell.ts';
import type { Engine } from '../../engine/engine.ts';
import type { TurnRow } from '../../engine/rows.ts';
import { HeadTrail, LOOK } from './head-trail.ts';
import { mustGetSealed, noContext, readTurn } from '../turns/read-turns.ts';
import { OpenTurnFollower } from './follow-open.ts';

type FollowVerbs = Pick<Contexts, 'follow' | 'followOpen'>;

export function followVerbs(parts: ContextsParts): FollowVerbs {
  const follower = new OpenTurnFollower(parts);
  return {
    follow(
      id: ContextIdLike,
      options: FollowOptions & { readonly moves?: boolean } = {},
    ): AsyncIterable<Turn> {
      const plan = {
        context: toContextId(id),
        after: checkAfter(options.after),
        openTurns: options.openTurns ?? false,
        moves: options.moves ?? false,
        onBehind: options.onBehind,
        read: checkRead(options, STREAM_BYTES_DEFAULT),
      };
      const items = leavable(checkSignal(options.signal), (signal) =>
        followContext(parts, { ...plan, signal }),
      );
      // Without `moves` there is nothing but turns.
      return items as AsyncIterable<Turn>;
    },

    followOpen(turn, { after = 0, signal } = {}) {
      checkWhole(after, 'after', 0, Number.MAX_SAFE_INTEGER);
      const id = toTurnId(turn);
      return leavable(checkSignal(signal), (left) => follower.follow({ id, after, signal: left }));
    },
  };
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
  parts: ContextsParts,
  plan: FollowPlan,
): AsyncGenerator<Turn | MovedHead, void, undefined> {
  const { engine, lifetime, readPage } = parts;
  const trail = new HeadTrail(plan.context);
  using bell = new ChangeBell(parts, {
    hear: (change) => trail.note(change),
    miss: () => trail.noteMissed(),
    signal: plan.signal,
  });
  try {
    for await (const turn of followTrail(engine, { ...plan, readPage, bell, trail })) {
      if (bell.isOver) return;
      yield turn;
    }
  } catch (error) {
    if (!(lifetime.closed && isQuipuError(error, 'CLOSED'))) throw error;
  }
}

interface TrailPlan extends FollowPlan {
  readonly readPage: ReadPage;
  readonly bell: ChangeBell;
  readonly trail: HeadTrail;
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
  while (!plan.bell.isOver) {
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
