import {
  NO_TURN,
  toContextId,
  toTurnId,
  type ContextId,
  type ContextIdLike,
  type TurnId,
} from '../../base/brand.ts';
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
import type { TurnRow, HeadRow } from '../../engine/rows.ts';
import { mustGetSealed, noContext, readTurn } from '../turns/read-turns.ts';
import { OpenTurnFollower } from './follow-open.ts';
import type { Change } from '../../engine/batch.ts';

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

/** The number of jumps remembered for a reader that is far behind; beyond that the oldest are forgotten. */
const JUMPS_MAX = 10_000;

/** Stands for "look where the head is": it was moved without a new turn, or changes went by unheard. */
export const LOOK = 'look';

/**
 * The way of one context's head while its reader was busy. A head that only grew is one entry, since its turns are
 * found by walking back; each jump to another branch adds one. Turns of a context become its head in the order of their
 * ids. A head that is moved without a new turn has no such order, and changes may be heard late: so the reader looks.
 */
export class HeadTrail {
  readonly #context: ContextId;
  #steps: (TurnId | typeof LOOK)[] = [];
  #newest: TurnId = NO_TURN;
  #newestDepth = 0;
  #opened: TurnId = NO_TURN;
  #removed = false;

  constructor(context: ContextId) {
    this.#context = context;
  }

  get removed(): boolean {
    return this.#removed;
  }

  /** The depth of the newest head that was heard of. */
  get newestDepth(): number {
    return this.#newestDepth;
  }

  /** Returns true when there is something new for the reader. */
  note(change: Change): boolean {
    let moved = false;
    // A batch moves heads before it appends turns.
    if (change.moves?.includes(this.#context) === true) {
      this.noteMissed();
      moved = true;
    }
    for (const row of [...change.turns, ...change.sealed]) {
      // A repeated idempotency key or seal names turns that were heads before.
      if (row.context !== this.#context || row.id <= this.#newest) continue;
      if (row.parent === this.#steps.at(-1)) this.#steps.pop();
      this.#steps.push(row.id);
      if (this.#steps.length > JUMPS_MAX) this.#steps.shift();
      this.#newest = row.id;
      this.#newestDepth = row.depth;
      moved = true;
    }
    for (const row of change.opened) {
      if (row.context !== this.#context) continue;
      this.#opened = row.id;
      moved = true;
    }
    if (change.removedContexts.includes(this.#context)) this.#removed = true;
    return moved || this.#removed;
  }

  /** The current state of the context must be read. */
  noteMissed(): void {
    if (this.#steps.at(-1) !== LOOK) this.#steps.push(LOOK);
  }

  /** Begins a look at the context: it shows all that was heard so far. */
  beginLook(): void {
    this.#steps = [];
  }

  /** Notes the result of a look; undefined for a context that is not there any more. */
  endLook(found: HeadRow | undefined): void {
    if (found === undefined) {
      this.#removed = true;
      return;
    }
    // Turns that were heard of meanwhile are in the result, too.
    this.#steps = this.#steps.filter((step) => step === LOOK || step > found.head);
    if (found.openTurn !== NO_TURN) this.#opened = found.openTurn;
    if (found.head <= this.#newest) return;
    this.#newest = found.head;
    this.#newestDepth = found.headDepth;
  }

  /** Returns the next head to go to, or `LOOK`; undefined when the reader is up to date. */
  take(): TurnId | typeof LOOK | undefined {
    return this.#steps.shift();
  }

  /** Returns the turn opened last, once; then `NO_TURN`. */
  takeOpened(): TurnId {
    const opened = this.#opened;
    this.#opened = NO_TURN;
    return opened;
  }
}
