import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ask } from '../api/http.ts';
import { Empty, Go, laneColour, Skeleton, Time, Trouble } from '../parts/basics.tsx';
import { speakerOf } from '../parts/turn-card.tsx';
import { showPayload, summaryOf } from '../shapes/show-turn.ts';
import { go, onStoreEvent, useTitle } from '../state/app.ts';
import { count, firstLine, plural, visible } from '../state/format.ts';
import { useKeys } from '../state/keys.ts';
import { useLoad, useTree } from '../state/load.ts';
import {
  layOut,
  toLines,
  type Graph,
  type GraphLine,
  type GraphRow,
  type Tree,
  type Unfolded,
} from '../state/tree.ts';
import type { TurnJson } from '../state/turn-window.ts';
import { CompareColumns } from './compare.tsx';
import { drawGraph, SVG_MARKS_MAX, SvgGraph, widthOf } from './branch-marks.tsx';

const LINE = { least: 10, usual: 34, most: 60 } as const;
/** Below this height a line is a mark without text. */
const TEXT_HEIGHT = 22;
/** Turns of a run that unfold at once. */
const UNFOLD = 200;
/** Events of a busy store are answered with one reload in this time. */
const REFRESH_MS = 300;

/** The tree of a context and all its forks, newest first, with lanes as in a graph of git. */
export function BranchesView({ context }: { context: string }): JSX.Element {
  const tree = useTree(context);
  const [picked, setPicked] = useState<readonly string[]>([]);
  useEffect(() => setPicked([]), [context]);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = onStoreEvent(({ event, data }) => {
      if (event === 'patch.added') lines.delete((data as { patch: { turn: string } }).patch.turn);
      if (!event.startsWith('context.') && event !== 'turn.appended') return;
      timer ??= setTimeout(() => {
        timer = undefined;
        tree.again();
      }, REFRESH_MS);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [context]);
  const graph = useMemo(() => tree.value && layOut(tree.value), [tree.value]);
  const own = tree.value?.branches.find((branch) => branch.context === context);
  useTitle(own?.title ?? own?.name);
  const [left, right] = picked.length === 0 ? usualPair(tree.value) : picked;
  return (
    <>
      <main class="graph" aria-label="Branches">
        {tree.error !== undefined && tree.value === undefined ? (
          <Trouble error={tree.error} again={tree.again} />
        ) : tree.value === undefined || graph === undefined ? (
          <Skeleton rows={10} />
        ) : (
          <GraphLines {...{ context, tree: tree.value, graph, picked, setPicked }} />
        )}
      </main>
      <aside class="look" aria-label="Compare">
        <h2 class="title">Compare</h2>
        {left !== undefined && right !== undefined ? (
          <CompareColumns left={left} right={right} />
        ) : (
          <p class="muted">
            {left === undefined
              ? 'There is one branch. A fork is the second.'
              : 'Choose a second turn with the round buttons.'}
          </p>
        )}
      </aside>
    </>
  );
}

/** The head of the main branch and that of the newest other one. */
function usualPair(tree: Tree | undefined): readonly string[] {
  const [main, ...others] = tree?.branches ?? [];
  const [newest] = others
    .filter(({ head }) => head !== main?.head)
    .sort((a, b) => b.updatedAt - a.updatedAt);
  return main === undefined || newest === undefined ? [] : [main.head, newest.head];
}

interface LinesGiven {
  readonly context: string;
  readonly tree: Tree;
  readonly graph: Graph;
  readonly picked: readonly string[];
  readonly setPicked: (turns: readonly string[]) => void;
}

function GraphLines({ context, tree, graph, picked, setPicked }: LinesGiven): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const [height, setHeight] = useState<number>(LINE.usual);
  const [chosen, setChosen] = useState(-1);
  const { unfolded, unfold, fold } = useUnfolded(context);
  const lines = useMemo(() => toLines(graph, unfolded), [graph, unfolded]);
  const { lanes } = graph;
  const laneWidth = Math.max(6, Math.min(28, 420 / Math.max(lanes, 1)));
  const zoom = (by: number): void => setHeight((old) => clamp(old * by, LINE.least, LINE.most));
  const scroll = useScroll(place, zoom);
  const first = Math.max(0, Math.floor(scroll.top / height) - 10);
  const last = Math.min(lines.length, Math.ceil((scroll.top + scroll.size) / height) + 10);
  useDrag(place);
  useKeys((key) => {
    const line = lines[chosen];
    if (key === 'j' || key === 'k') {
      const next = clamp(chosen + (key === 'j' ? 1 : -1), 0, lines.length - 1);
      setChosen(next);
      place.current?.scrollTo({ top: next * height - scroll.size / 2 });
    } else if (key === 'Enter' && line?.sort === 'run') unfold(line.row, line.turns);
    else if (key === 'Enter' && line !== undefined) go(toTurn(line.row, turnOf(line)));
    else if (key === 'c' && line !== undefined && line.sort !== 'run') {
      setPicked(pick(picked, turnOf(line)));
    } else if (key === '+' || key === '-') zoom(key === '+' ? 1.25 : 0.8);
    else return false;
    return true;
  });
  if (lines.length === 0) return <Empty title="This context is empty." />;
  const marks = { lines, lanes, height, laneWidth, first, last };
  return (
    <>
      <header class="bar-head">
        <b>
          {plural(tree.branches.length, 'branch', 'branches')}, {plural(tree.turns, 'turn')}
        </b>
        <span class="muted">newest first</span>
        {tree.more && <span class="bad">only the newest branches are shown</span>}
        <span class="zoom">
          {unfolded.size > 0 && (
            <button type="button" onClick={fold}>
              Fold runs
            </button>
          )}
          <button type="button" aria-label="Zoom out" onClick={() => zoom(0.8)}>
            −
          </button>
          <button type="button" aria-label="Zoom in" onClick={() => zoom(1.25)}>
            +
          </button>
          <Go class="button" to={{ at: 'context', context }}>
            Read
          </Go>
        </span>
      </header>
      <div class="rows" ref={place} tabIndex={0} role="list" aria-label="Turns that matter">
        <div class="canvas" style={{ height: `${lines.length * height}px` }}>
          {last - first > SVG_MARKS_MAX ? (
            <canvas
              ref={(canvas) => {
                if (canvas !== null) drawGraph(canvas, marks);
              }}
            />
          ) : (
            <SvgGraph {...marks} />
          )}
          {lines.slice(first, last).map((line, offset) => (
            <Line
              key={keyOf(line)}
              line={line}
              style={{
                top: `${(first + offset) * height}px`,
                height: `${height}px`,
                paddingLeft: `${widthOf(lanes, laneWidth)}px`,
              }}
              hasText={height >= TEXT_HEIGHT}
              isChosen={first + offset === chosen}
              isPicked={line.sort !== 'run' && picked.includes(turnOf(line))}
              onPick={() => line.sort !== 'run' && setPicked(pick(picked, turnOf(line)))}
              onUnfold={() => line.sort === 'run' && unfold(line.row, line.turns)}
            />
          ))}
        </div>
      </div>
    </>
  );
}

function turnOf(line: GraphLine): string {
  return line.sort === 'turn' ? line.turn : line.row.node.turn;
}

function keyOf(line: GraphLine): string {
  return `${line.sort} ${turnOf(line)}`;
}

function toTurn({ branch }: GraphRow, turn: string): Parameters<typeof go>[0] {
  return { at: 'context', context: branch.context, turn };
}

/** The last two that were picked; a turn that is picked again is let go. */
function pick(picked: readonly string[], turn: string): readonly string[] {
  return picked.includes(turn) ? picked.filter((one) => one !== turn) : [...picked, turn].slice(-2);
}

/** Runs that somebody unfolded, a part at a time, the newest turns first. */
function useUnfolded(context: string): {
  unfolded: Unfolded;
  unfold: (row: GraphRow, left: number) => void;
  fold: () => void;
} {
  const [unfolded, setUnfolded] = useState<Unfolded>(new Map());
  useEffect(() => setUnfolded(new Map()), [context]);
  return {
    unfolded,
    fold: () => setUnfolded(new Map()),
    unfold: ({ node, branch, between }, left) => {
      const end = node.depth - (between - left);
      const given = { id: branch.context, from: Math.max(end - UNFOLD, end - left), to: end };
      void ask('listTurns', { ...given, limit: UNFOLD, payload: 0 }).then(({ turns }) => {
        const read = turns.map(({ id, createdAt }) => ({ id, at: createdAt })).reverse();
        setUnfolded((old) => {
          const before = old.get(node.turn) ?? [];
          if (before.length !== between - left) return old;
          return new Map(old).set(node.turn, [...before, ...read]);
        });
      });
    },
  };
}

interface LineGiven {
  readonly line: GraphLine;
  readonly style: Record<string, string>;
  readonly hasText: boolean;
  readonly isChosen: boolean;
  readonly isPicked: boolean;
  readonly onPick: () => void;
  readonly onUnfold: () => void;
}

function Line(given: LineGiven): JSX.Element {
  const { line, style, hasText, isChosen, isPicked, onPick, onUnfold } = given;
  const { row } = line;
  const turn = turnOf(line);
  const state = `${isChosen || isPicked ? 'on' : ''}`;
  if (!hasText) return <div class={`row ${state}`} role="listitem" style={style} />;
  if (line.sort === 'run') {
    return (
      <div class={`row run ${state}`} role="listitem" style={style}>
        <button type="button" class="quiet" onClick={onUnfold}>
          <i aria-hidden="true">┆</i> {plural(line.turns, 'turn')}
        </button>
      </div>
    );
  }
  const heads = line.sort === 'node' ? row.heads : [];
  return (
    <div class={`row ${state}`} role="listitem" style={style}>
      {heads.map((head) => (
        <span key={head.context} class="tag" style={{ background: laneColour(row.lane) }}>
          {visible(head.title ?? head.name ?? `context ${head.context}`)}
        </span>
      ))}
      <Go class="text" to={toTurn(row, turn)}>
        <TurnLine turn={turn} />
        {line.sort === 'node' && heads.length === 0 && row.node.parent !== undefined && (
          <small class="muted"> fork</small>
        )}
      </Go>
      <span class="muted id">turn {count(turn)}</span>
      <span class="muted age">
        <Time at={line.sort === 'node' ? row.node.createdAt : line.at} />
      </span>
      <input
        type="checkbox"
        checked={isPicked}
        aria-label={`Compare turn ${turn}`}
        title="Compare"
        onChange={onPick}
      />
    </div>
  );
}

/** Lines that were read. A turn changes only by a patch, so each is read once. */
const lines = new Map<string, Promise<TurnJson>>();
const LINES_KEPT = 5000;

function TurnLine({ turn }: { turn: string }): JSX.Element {
  const { value } = useLoad(`line ${turn}`, () => {
    const read = lines.get(turn) ?? ask('getTurn', { id: turn, payload: 65_536 });
    if (lines.size >= LINES_KEPT) lines.clear();
    lines.set(turn, read);
    read.catch(() => lines.delete(turn));
    return read;
  });
  if (value === undefined) return <span class="muted">turn {turn}</span>;
  if (value.tombstone === true) return <span class="muted">hidden</span>;
  const shown = showPayload(value.payload, value.type);
  return (
    <>
      <b>{speakerOf(shown, value.type)}</b> {firstLine(summaryOf(shown), 140)}
    </>
  );
}

type Box = { readonly current: HTMLElement | null };

function useScroll(
  place: Box,
  zoom: (by: number) => void,
): { readonly top: number; readonly size: number } {
  const [scroll, setScroll] = useState({ top: 0, size: 800 });
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const measure = (): void => setScroll({ top: element.scrollTop, size: element.clientHeight });
    const onWheel = (event: WheelEvent): void => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoom(event.deltaY < 0 ? 1.15 : 0.87);
    };
    measure();
    element.addEventListener('scroll', measure, { passive: true });
    element.addEventListener('wheel', onWheel, { passive: false });
    const resized = new ResizeObserver(measure);
    resized.observe(element);
    return () => {
      element.removeEventListener('scroll', measure);
      element.removeEventListener('wheel', onWheel);
      resized.disconnect();
    };
  }, []);
  return scroll;
}

/** Dragging the graph moves it. */
function useDrag(place: Box): void {
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
