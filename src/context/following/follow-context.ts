import { NO_TURN } from '../../base/brand.ts';
import type { ContextId, TurnId } from '../../base/brand.ts';
import { isQuipuError } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { TurnRow } from '../../engine/rows.ts';
import { Bell } from '../../base/bell.ts';
import type { CheckedRead } from '../check-input.ts';
import type { ContextsWorld } from '../contexts-world.ts';
import { HeadTrail } from './head-trail.ts';
import type { ReadPage } from '../turns/loaded-page.ts';
import { mustGetHead, mustGetSealed, readTurn } from '../turns/read-turns.ts';
import type { Turn } from '../turns/turn.ts';
import { PAGE_TURNS, walkChain } from '../turns/walk-chain.ts';

// Reads instead of queueing: while the reader is busy, a change is remembered as a position, and its turns are walked
// to when the reader asks again. So a slow reader costs a few ids, not payloads.

export interface FollowPlan {
  readonly context: ContextId;
  /** `NO_TURN` to begin at the root. */
  readonly after: TurnId;
  readonly signal: AbortSignal | undefined;
  readonly openTurns: boolean;
  readonly onBehind: ((turns: number) => void) | undefined;
  readonly read: CheckedRead;
}

export async function* followContext(
  { engine, lifetime, readPage }: ContextsWorld,
  plan: FollowPlan,
): AsyncGenerator<Turn, void, undefined> {
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
): AsyncGenerator<Turn, void, undefined> {
  const { trail, read } = plan;
  const start = await mustGetHead(engine, plan.context);
  let last = plan.after === NO_TURN ? undefined : await mustGetSealed(engine, plan.after);
  let head: TurnId | undefined = start.head === NO_TURN ? undefined : start.head;
  let opened = start.openTurn;
  let shownOpen: TurnId = NO_TURN;
  while (!plan.isOver()) {
    if (head !== undefined) {
      const tip = await mustGetSealed(engine, head);
      const from = await depthAfter(engine, last, tip);
      const beforePage = (depth: number): void => {
        const turns = Math.max(tip.depth, trail.newestDepth) - depth + 1;
        if (turns > PAGE_TURNS) plan.onBehind?.(turns);
      };
      yield* walkChain(plan.readPage, tip, read, { from, beforePage });
      last = tip;
    }
    if (trail.takeMissed()) trail.noteFound(await engine.getHead(plan.context));
    head = nextHead(trail, start.head);
    if (head !== undefined) continue;

    if (plan.openTurns && opened > shownOpen) {
      const turn = await readTurn(engine, opened, read);
      if (turn?.state === 'open') yield turn;
      shownOpen = opened;
    }
    opened = trail.takeOpened();
    if (opened > shownOpen) continue;

    if (trail.removed) return;
    await plan.bell.wait();
  }
}

/** Skips the turns that the first look has shown already. */
function nextHead(trail: HeadTrail, shown: TurnId): TurnId | undefined {
  let head = trail.takeHead();
  while (head !== undefined && head <= shown) head = trail.takeHead();
  return head;
}

/** Returns the depth after the deepest turn that `last` and `tip` have in common. */
async function depthAfter(
  engine: Engine,
  last: TurnRow | undefined,
  tip: TurnRow,
): Promise<number> {
  if (last === undefined) return 0;
  if (tip.parent === last.id) return tip.depth;
  const base = await engine.commonAncestor(last.id, tip.id);
  return base === undefined ? 0 : base.depth + 1;
}
