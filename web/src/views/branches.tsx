import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ask } from '../api/http.ts';
import { Empty, Go, laneColour, Skeleton, Time, Trouble } from '../parts/basics.tsx';
import { speakerOf } from '../parts/turn-card.tsx';
import { showPayload, summaryOf } from '../shapes/show-turn.ts';
import { go, onStoreEvent } from '../state/app.ts';
import { count, firstLine, plural, visible } from '../state/format.ts';
import { useKeys } from '../state/keys.ts';
import { useLoad } from '../state/load.ts';
import { layOut, type Graph, type GraphRow, type Tree } from '../state/tree.ts';
import type { TurnJson } from '../state/turn-window.ts';
import { CompareColumns } from './compare.tsx';
import { drawGraph, SVG_MARKS_MAX, SvgGraph } from './branch-marks.tsx';

const ROW = { least: 10, usual: 34, most: 60 } as const;
/** Below this height a row is a mark without text. */
const TEXT_HEIGHT = 22;

/** The tree of a context and all its forks, newest first, with lanes as in a graph of git. */
export function BranchesView({ context }: { context: string }): JSX.Element {
  const tree = useLoad(`tree ${context}`, (signal) => ask('getTree', { id: context }, { signal }));
  const [picked, setPicked] = useState<readonly string[]>([]);
  useEffect(
    () =>
      onStoreEvent(({ event }) => {
        if (event.startsWith('context.') || event === 'turn.appended') tree.again();
      }),
    [context],
  );
  const graph = useMemo(() => tree.value && layOut(tree.value), [tree.value]);
  const [left, right] = picked;
  return (
    <>
      <main class="graph" aria-label="Branches">
        {tree.error !== undefined && tree.value === undefined ? (
          <Trouble error={tree.error} again={tree.again} />
        ) : tree.value === undefined || graph === undefined ? (
          <Skeleton rows={10} />
        ) : (
          <GraphRows {...{ context, tree: tree.value, graph, picked, setPicked }} />
        )}
      </main>
      <aside class="look" aria-label="Compare">
        <h2>Compare</h2>
        {left !== undefined && right !== undefined ? (
          <CompareColumns left={left} right={right} />
        ) : (
          <p class="muted">
            {left === undefined
              ? 'Choose two turns with the round buttons to compare their branches.'
              : 'Choose a second turn.'}
          </p>
        )}
      </aside>
    </>
  );
}

interface RowsGiven {
  readonly context: string;
  readonly tree: Tree;
  readonly graph: Graph;
  readonly picked: readonly string[];
  readonly setPicked: (turns: readonly string[]) => void;
}

function GraphRows({ context, tree, graph, picked, setPicked }: RowsGiven): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const [height, setHeight] = useState<number>(ROW.usual);
  const [scroll, setScroll] = useState({ top: 0, size: 800 });
  const [chosen, setChosen] = useState(-1);
  const { rows, lanes } = graph;
  const laneWidth = Math.max(6, Math.min(28, 900 / Math.max(lanes, 1)));
  const graphWidth = lanes * laneWidth + 28;
  const first = Math.max(0, Math.floor(scroll.top / height) - 10);
  const last = Math.min(rows.length, Math.ceil((scroll.top + scroll.size) / height) + 10);
  useDrag(place);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const measure = (): void => setScroll({ top: element.scrollTop, size: element.clientHeight });
    const zoom = (event: WheelEvent): void => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      setHeight((old) => clamp(old * (event.deltaY < 0 ? 1.15 : 0.87), ROW.least, ROW.most));
    };
    measure();
    element.addEventListener('scroll', measure, { passive: true });
    element.addEventListener('wheel', zoom, { passive: false });
    const resized = new ResizeObserver(measure);
    resized.observe(element);
    return () => {
      element.removeEventListener('scroll', measure);
      element.removeEventListener('wheel', zoom);
      resized.disconnect();
    };
  }, []);
  useKeys((key) => {
    const row = rows[chosen];
    if (key === 'j' || key === 'k') {
      const next = clamp(chosen + (key === 'j' ? 1 : -1), 0, rows.length - 1);
      setChosen(next);
      place.current?.scrollTo({ top: next * height - scroll.size / 2 });
    } else if (key === 'Enter' && row !== undefined) open(row);
    else if (key === '+' || key === '-') {
      setHeight(clamp(height * (key === '+' ? 1.25 : 0.8), ROW.least, ROW.most));
    } else return false;
    return true;
  });
  if (rows.length === 0) return <Empty title="This context is empty." />;
  const marks = { graph, height, laneWidth, first, last };
  return (
    <>
      <header class="bar-head">
        <b>
          {plural(tree.branches.length, 'branch', 'branches')}, {plural(tree.turns, 'turn')}
        </b>
        <span class="muted">newest first</span>
        {tree.more && <span class="bad">only the newest branches are shown</span>}
        <span class="zoom">
          <button type="button" aria-label="Zoom out" onClick={() => setHeight(height * 0.8)}>
            −
          </button>
          <button type="button" aria-label="Zoom in" onClick={() => setHeight(height * 1.25)}>
            +
          </button>
          <Go to={{ at: 'context', context }}>Read the thread</Go>
        </span>
      </header>
      <div class="rows" ref={place} tabIndex={0} role="list" aria-label="Turns that matter">
        <div class="canvas" style={{ height: `${rows.length * height}px` }}>
          {last - first > SVG_MARKS_MAX ? (
            <canvas
              ref={(canvas) => {
                if (canvas !== null) drawGraph(canvas, marks);
              }}
            />
          ) : (
            <SvgGraph {...marks} />
          )}
          {rows.slice(first, last).map((row, offset) => (
            <Row
              key={row.node.turn}
              row={row}
              style={{
                top: `${(first + offset) * height}px`,
                height: `${height}px`,
                paddingLeft: `${graphWidth}px`,
              }}
              hasText={height >= TEXT_HEIGHT}
              isChosen={first + offset === chosen}
              isPicked={picked.includes(row.node.turn)}
              lane={row.lane}
              onPick={() => setPicked(pick(picked, row.node.turn))}
            />
          ))}
        </div>
      </div>
    </>
  );
}

function open({ node, branch }: GraphRow): void {
  go({ at: 'context', context: branch.context, turn: node.turn });
}

/** The last two that were picked; a turn that is picked again is let go. */
function pick(picked: readonly string[], turn: string): readonly string[] {
  return picked.includes(turn) ? picked.filter((one) => one !== turn) : [...picked, turn].slice(-2);
}

function Row({
  row,
  style,
  hasText,
  isChosen,
  isPicked,
  lane,
  onPick,
}: {
  row: GraphRow;
  style: Record<string, string>;
  hasText: boolean;
  isChosen: boolean;
  isPicked: boolean;
  lane: number;
  onPick: () => void;
}): JSX.Element {
  const { node, heads, branch, between } = row;
  return (
    <div class={`row ${isChosen ? 'on' : ''}`} role="listitem" style={style}>
      {hasText && (
        <>
          <input
            type="checkbox"
            checked={isPicked}
            aria-label={`Compare turn ${node.turn}`}
            onChange={onPick}
          />
          {heads.map((head) => (
            <span key={head.context} class="tag" style={{ background: laneColour(lane) }}>
              {visible(head.title ?? head.name ?? `context ${head.context}`)}
            </span>
          ))}
          <Go class="text" to={{ at: 'context', context: branch.context, turn: node.turn }}>
            <TurnLine turn={node.turn} />
          </Go>
          {between > 0 && <span class="muted">over {plural(between, 'turn')}</span>}
          <span class="muted id">turn {count(node.turn)}</span>
          <Time at={node.createdAt} />
        </>
      )}
    </div>
  );
}

const lines = new Map<string, Promise<TurnJson>>();

/** The first line of a turn. Turns do not change, so each is read once. */
function TurnLine({ turn }: { turn: string }): JSX.Element {
  const { value } = useLoad(`line ${turn}`, () => {
    const read = lines.get(turn) ?? ask('getTurn', { id: turn, payload: 65_536 });
    lines.set(turn, read);
    return read;
  });
  if (value === undefined) return <span class="muted">turn {turn}</span>;
  const shown = showPayload(value.payload, value.type);
  return (
    <>
      <b>{speakerOf(shown, value.type)}</b> {firstLine(summaryOf(shown), 140)}
    </>
  );
}

/** Dragging the graph moves it. */
function useDrag(place: { readonly current: HTMLElement | null }): void {
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    let from: { y: number; top: number; id: number } | undefined;
    const down = (event: PointerEvent): void => {
      if (event.button !== 0 || (event.target as HTMLElement).closest('a, input, button')) return;
      from = { y: event.clientY, top: element.scrollTop, id: event.pointerId };
    };
    const move = (event: PointerEvent): void => {
      if (from === undefined || event.pointerId !== from.id) return;
      element.scrollTop = from.top - (event.clientY - from.y);
    };
    const up = (): void => {
      from = undefined;
    };
    element.addEventListener('pointerdown', down);
    addEventListener('pointermove', move);
    addEventListener('pointerup', up);
    return () => {
      element.removeEventListener('pointerdown', down);
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', up);
    };
  }, []);
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
