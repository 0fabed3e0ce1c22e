import { NO_TURN, type TurnId } from '../../base/brand.ts';

// The graph beside a log, drawn while turns come, newest first. A lane is a column that waits for a turn. A turn stands
// in the leftmost lane that waits for it, and all other lanes that wait for it end there: their branches were forked
// from it. A lane keeps its column until it ends, and a new one takes the first that is free. So a row needs the rows
// above it alone, and the graph takes as much memory as it is wide. All functions are pure.
//
// The page lays out its tree in another way (web/src/state/tree.ts): it has the whole skeleton at once, and a lane
// there is a branch, from its fork to its head.

/** The turn that each lane waits for, from left to right. Undefined: the lane is free. */
export type Lanes = readonly (TurnId | undefined)[];

export interface Placed {
  /** Where the turn stands. */
  readonly lane: number;
  /** The lanes right of it that end here. */
  readonly joins: readonly number[];
  /** The lanes above the turn, with its own. */
  readonly above: Lanes;
  /** The lanes in the row of the turn, where the others have ended. */
  readonly beside: Lanes;
  /** The lanes below: that of the turn waits for its parent, or is free below a root. */
  readonly below: Lanes;
}

export function placeTurn(
  lanes: Lanes,
  { id, parent }: { readonly id: TurnId; readonly parent: TurnId },
): Placed {
  const waiting = [...lanes.keys()].filter((lane) => lanes[lane] === id);
  const free = lanes.indexOf(undefined);
  const lane = waiting[0] ?? (free === -1 ? lanes.length : free);
  const joins = waiting.slice(1);
  const above = [...lanes];
  above[lane] = id;
  const beside = trim(above.map((turn, at) => (joins.includes(at) ? undefined : turn)));
  const below = beside.map((turn, at) =>
    at === lane ? (parent === NO_TURN ? undefined : parent) : turn,
  );
  return { lane, joins, above, beside, below: trim(below) };
}

function trim(lanes: Lanes): Lanes {
  const last = lanes.findLastIndex((turn) => turn !== undefined);
  return lanes.slice(0, last + 1);
}

/** The characters of a graph, in UTF-8 and in ASCII. */
const STROKES = {
  turn: ['●', '*'],
  lane: ['│', '|'],
  /** Where others join a lane. */
  joined: ['├', '|'],
  across: ['─', '_'],
  /** Over a lane that goes on. */
  over: ['┼', '|'],
  /** The end of a lane that joins, with others right of it and without. */
  joins: ['┴', '_'],
  joinsLast: ['╯', ' '],
  /** Left of the end of a lane. */
  corner: ['─', '/'],
  /** Stands for the lanes that do not fit. */
  more: ['…', '>'],
} as const;

export type Strokes = Readonly<Record<keyof typeof STROKES, string>>;

function pick(form: 0 | 1): Strokes {
  const strokes = Object.entries(STROKES).map(([name, forms]) => [name, forms[form]]);
  return Object.fromEntries(strokes) as Strokes;
}

export const UTF8_STROKES: Strokes = pick(0);
export const ASCII_STROKES: Strokes = pick(1);

/** A character of a graph, and the lane that it belongs to. */
export interface Cell {
  readonly char: string;
  readonly lane: number;
}

/** The row of the turn itself. */
export function drawTurn({ lane, beside }: Placed, strokes: Strokes): Cell[] {
  return drawLanes(beside, strokes).map((cell, at) =>
    at === 2 * lane ? { char: strokes.turn, lane } : cell,
  );
}

/** A row in which all lanes go on. */
export function drawLanes(lanes: Lanes, { lane: stroke }: Strokes): Cell[] {
  return lanes.flatMap((turn, lane) => {
    const cell = { char: turn === undefined ? ' ' : stroke, lane };
    return lane === 0 ? [cell] : [{ char: ' ', lane }, cell];
  });
}

/** The row above a turn in which lanes end. Undefined when none does. */
export function drawJoins({ lane, joins, above }: Placed, strokes: Strokes): Cell[] | undefined {
  const last = joins.at(-1);
  if (last === undefined) return undefined;
  return drawLanes(above, strokes).map((cell, at): Cell => {
    if (at < 2 * lane || at > 2 * last) return cell;
    if (at === 2 * lane) return { char: strokes.joined, lane };
    /** The lane that a crossing here belongs to: the next one that ends. */
    const owner = joins.find((join) => 2 * join >= at) ?? last;
    if (at % 2 === 1) {
      const isCorner = joins.includes((at + 1) / 2);
      return { char: isCorner ? strokes.corner : strokes.across, lane: owner };
    }
    const crossed = at / 2;
    if (crossed === last) return { char: strokes.joinsLast, lane: last };
    if (joins.includes(crossed)) return { char: strokes.joins, lane: crossed };
    if (above[crossed] === undefined) return { char: strokes.across, lane: owner };
    return { char: strokes.over, lane: crossed };
  });
}

/** Cuts a row to so many lanes. A sign stands for the rest, if the row has more, and the turn stays visible. */
export function cutCells(
  cells: readonly Cell[],
  { maxLanes, strokes }: { readonly maxLanes: number; readonly strokes: Strokes },
): readonly Cell[] {
  const columns = 2 * maxLanes - 1;
  if (cells.length <= columns) return cells;
  const hidden = cells.slice(columns);
  const turn = hidden.find(({ char }) => char === strokes.turn);
  const sign = { char: strokes.more, lane: maxLanes };
  return [...cells.slice(0, columns), sign, turn ?? { char: ' ', lane: maxLanes }];
}
