import type { JSX } from 'preact';
import { laneColour } from '../parts/basics.tsx';
import type { Graph, GraphRow } from '../state/tree.ts';

// The cords and knots of the visible rows: SVG, or a canvas when there are too many marks for one.

export const SVG_MARKS_MAX = 2000;

export interface Marks {
  readonly graph: Graph;
  readonly height: number;
  readonly laneWidth: number;
  /** The rows that are drawn: from `first` up to `last`. */
  readonly first: number;
  readonly last: number;
}

interface Place {
  readonly x: number;
  readonly y: number;
}

function placeOf(lane: number, row: number, { height, laneWidth }: Marks): Place {
  return { x: 14 + lane * laneWidth, y: (row + 0.5) * height };
}

/** Down its own lane, then over to the lane of the turn that it was forked from. */
function cordOf(row: GraphRow, at: number, marks: Marks): string | undefined {
  if (row.parentRow === undefined || row.parentLane === undefined) return undefined;
  const from = placeOf(row.lane, at, marks);
  const to = placeOf(row.parentLane, row.parentRow, marks);
  if (from.x === to.x) return `M${from.x} ${from.y}V${to.y}`;
  const bend = Math.min(marks.height * 0.9, to.y - from.y);
  return `M${from.x} ${from.y}V${to.y - bend}C${from.x} ${to.y} ${to.x} ${to.y - bend / 2} ${to.x} ${to.y}`;
}

/** Rows whose cord crosses what is visible. */
function crossing({ graph, first, last }: Marks): [GraphRow, number][] {
  const found: [GraphRow, number][] = [];
  for (let at = 0; at < last; at += 1) {
    const row = graph.rows[at];
    if (row !== undefined && (row.parentRow ?? at) >= first) found.push([row, at]);
  }
  return found;
}

export function SvgGraph(marks: Marks): JSX.Element {
  const { graph, height, laneWidth, first, last } = marks;
  const radius = Math.min(5, height / 3);
  return (
    <svg
      class="cords"
      aria-hidden="true"
      width={graph.lanes * laneWidth + 28}
      height={graph.rows.length * height}
    >
      {crossing(marks).map(([row, at]) => {
        const path = cordOf(row, at, marks);
        return (
          path !== undefined && (
            <path key={row.node.turn} d={path} style={{ stroke: laneColour(row.lane) }} />
          )
        );
      })}
      {graph.rows.slice(first, last).map((row, offset) => {
        const { x, y } = placeOf(row.lane, first + offset, marks);
        return (
          <circle
            key={row.node.turn}
            cx={x}
            cy={y}
            r={radius}
            class={row.heads.length > 0 ? 'head' : ''}
            style={{ stroke: laneColour(row.lane), color: laneColour(row.lane) }}
          />
        );
      })}
    </svg>
  );
}

export function drawGraph(canvas: HTMLCanvasElement, marks: Marks): void {
  const { graph, height, laneWidth, first, last } = marks;
  const scale = devicePixelRatio;
  const width = graph.lanes * laneWidth + 28;
  canvas.width = width * scale;
  canvas.height = (last - first) * height * scale;
  Object.assign(canvas.style, {
    position: 'absolute',
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
  for (const [row, at] of crossing(marks)) {
    const path = cordOf(row, at, marks);
    pen.strokeStyle = colourOf(row.lane);
    if (path !== undefined) pen.stroke(new Path2D(path));
  }
  for (let at = first; at < last; at += 1) {
    const row = graph.rows[at];
    if (row === undefined) continue;
    const { x, y } = placeOf(row.lane, at, marks);
    pen.fillStyle = colourOf(row.lane);
    pen.beginPath();
    pen.arc(x, y, Math.min(4, height / 3), 0, 2 * Math.PI);
    pen.fill();
  }
}
