import { NO_TURN, type ContextId, type TurnId } from '../../base/brand.ts';
import { isQuipuError } from '../../base/errors.ts';
import type { Contexts, ReadOptions } from '../../context/contexts.ts';
import type { Turn } from '../../context/turn.ts';

// The turns of many branches, newest first, each once. A turn has a higher id than its parent, so the highest id of all
// branches is the next one to show. A branch is read when its turn has come, a page at a time: what is never shown is
// never read, however many branches there are and however long they are.

/** A branch, and the next of its turns. */
interface Position {
  readonly next: TurnId;
  readonly context: ContextId;
  /** The turn after `next`, once it was shown. */
  readonly shown: TurnId | undefined;
  /** Turns read ahead, from older to newer. The last is `next`. */
  readonly ahead: Turn[];
}

const PAGE_TURNS = 64;
/** All pages that are read ahead share this. */
const AHEAD_BYTES = 16 * 1024 * 1024;

export interface Branch {
  readonly id: ContextId;
  readonly head: TurnId;
}

export async function* newestFirst(
  contexts: Pick<Contexts, 'turn' | 'before'>,
  branches: readonly Branch[],
  { limit, payload }: { readonly limit: number; readonly payload: number | boolean },
): AsyncGenerator<Turn> {
  /** By rising id of the next turn, which no two of them share. */
  const open: Position[] = [];
  for (const { id, head } of branches) {
    if (head !== NO_TURN) insert(open, { next: head, context: id, shown: undefined, ahead: [] });
  }
  for (let left = limit; left > 0; left -= 1) {
    const position = open.pop();
    if (position === undefined) return;
    const { context, next, ahead } = position;
    const budget = Math.floor(AHEAD_BYTES / (open.length + 1));
    if (ahead.length === 0) {
      ahead.push(...(await readAhead(contexts, position, left, { payload, maxBytes: budget })));
    }
    const turn = ahead.pop();
    // A turn that is not there any more ends its branch.
    if (turn === undefined) continue;
    yield turn;
    if (turn.parent !== NO_TURN) {
      insert(open, { next: turn.parent, context, shown: next, ahead });
    }
  }
}

async function readAhead(
  contexts: Pick<Contexts, 'turn' | 'before'>,
  { next, context, shown }: Position,
  left: number,
  options: ReadOptions,
): Promise<readonly Turn[]> {
  const readOne = async (): Promise<readonly Turn[]> => {
    const turn = await contexts.turn(next, options);
    return turn === undefined ? [] : [turn];
  };
  if (shown === undefined) return readOne();
  try {
    return (await contexts.before(context, shown, Math.min(left, PAGE_TURNS), options)).turns;
  } catch (error) {
    // The context was removed meanwhile, or its head moved to another branch.
    if (!isQuipuError(error, 'NOT_FOUND')) throw error;
    return readOne();
  }
}

/** Two branches that meet go on as one: the one with more turns at hand. */
function insert(open: Position[], position: Position): void {
  let low = 0;
  let high = open.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((open[middle]?.next ?? NO_TURN) < position.next) low = middle + 1;
    else high = middle;
  }
  const met = open[low];
  if (met?.next !== position.next) open.splice(low, 0, position);
  else if (met.ahead.length < position.ahead.length) open[low] = position;
}
