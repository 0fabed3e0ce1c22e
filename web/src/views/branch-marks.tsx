import type { JSX } from 'preact';
import { laneColour } from '../parts/basics.tsx';
import type { GraphLine } from '../state/tree.ts';

// The cords and knots of the visible lines: SVG, or a canvas when there are too many marks for one.

export const SVG_MARKS_MAX = 2000;

export interface Marks {
  readonly lines: readonly GraphLine[];
  readonly lanes: number;
  readonly height: number;
  readonly laneWidth: number;
  /** The lines that are drawn: from `first` up to `last`. */
  readonly first: number;
  readonly last: number;
}

/** The lane 0 begins here. */
const LEFT = 28;

export function widthOf(lanes: number, laneWidth: number): number {
  return LEFT + (lanes - 1) * laneWidth + 24;
}

interface Place {
  readonly x: number;
  readonly y: number;
}

function placeOf(lane: number, line: number, { height, laneWidth }: Marks): Place {
  return { x: LEFT + lane * laneWidth, y: (line + 0.5) * height };
}

type Node = GraphLine & { sort: 'node' };

/** Down its own lane, then over to the lane of the turn that it was forked from. */
function cordOf({ row, parentAt }: Node, at: number, marks: Marks): string | undefined {
  if (parentAt === undefined || row.parentLane === undefined) return undefined;
  const from = placeOf(row.lane, at, marks);
  const to = placeOf(row.parentLane, parentAt, marks);
  if (from.x === to.x) return `M${from.x} ${from.y}V${to.y}`;
  const bend = Math.min(marks.height * 0.9, to.y - from.y);
  return `M${from.x} ${from.y}V${to.y - bend}C${from.x} ${to.y} ${to.x} ${to.y - bend / 2} ${to.x} ${to.y}`;
}

/** Nodes whose cord crosses what is visible. */
function crossing({ lines, first, last }: Marks): [Node, number][] {
  const found: [Node, number][] = [];
  for (let at = 0; at < last; at += 1) {
    const line = lines[at];
    if (line?.sort === 'node' && (line.parentAt ?? at) >= first) found.push([line, at]);
  }
  return found;
}

/** The knots: heads are full, turns of an unfolded run are small. */
function knots(
  marks: Marks,
): (Place & { key: string; lane: number; radius: number; head: boolean })[] {
  const { lines, first, last, height } = marks;
  return lines.slice(first, last).flatMap((line, offset) => {
    if (line.sort === 'run') return [];
    const { row } = line;
    const isNode = line.sort === 'node';
    return [
      {
        ...placeOf(row.lane, first + offset, marks),
        key: isNode ? row.node.turn : line.turn,
        lane: row.lane,
        radius: Math.min(isNode ? 5 : 3, height / 3),
        head: isNode && row.heads.length > 0,
      },
    ];
  });
}

export function SvgGraph(marks: Marks): JSX.Element {
  const { lines, lanes, height, laneWidth } = marks;
  return (
    <svg
      class="cords"
      aria-hidden="true"
      width={widthOf(lanes, laneWidth)}
      height={lines.length * height}
    >
      {crossing(marks).map(([node, at]) => {
        const path = cordOf(node, at, marks);
        return (
          path !== undefined && (
            <path key={node.row.node.turn} d={path} style={{ stroke: laneColour(node.row.lane) }} />
          )
        );
      })}
      {knots(marks).map(({ key, x, y, lane, radius, head }) => (
        <circle
          key={key}
          cx={x}
          cy={y}
          r={radius}
          class={head ? 'head' : ''}
          style={{ stroke: laneColour(lane), color: laneColour(lane) }}
        />
      ))}
    </svg>
  );
}

export function drawGraph(canvas: HTMLCanvasElement, marks: Marks): void {
  const { lanes, height, laneWidth, first, last } = marks;
  const scale = devicePixelRatio;
  const width = widthOf(lanes, laneWidth);
  canvas.width = width * scale;
  canvas.height = (last - first) * height * scale;
  Object.assign(canvas.style, {
    top: `${first * height}px`,
    width: `${width}px`,
    height: `${(last - first) * height}px`,
  });
  const pen = canvas.getContext('2d');
  if (pen === null) return;
  const colours = getComputedStyle(document.documentElement);
  const colourOf = (lane: number): string => colours.getPropertyValue(`--lane-${lane % 8}`);
  pen.scale(scale, scale);
  pen.translate(0, -first * height);
  pen.lineWidth = 2;
  for (const [node, at] of crossing(marks)) {
    const path = cordOf(node, at, marks);
    pen.strokeStyle = colourOf(node.row.lane);
    if (path !== undefined) pen.stroke(new Path2D(path));
  }
  for (const { x, y, lane, radius } of knots(marks)) {
    pen.fillStyle = colourOf(lane);
    pen.beginPath();
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    pen.fill();
  }
}
