import type { JSX } from 'preact';
import { ask } from '../api/http.ts';
import { Go, laneColour, Skeleton, Trouble } from '../parts/basics.tsx';
import { changeCounts, Diff, editOf, type DiffLine } from '../parts/diff.tsx';
import { Fold } from '../parts/fold.tsx';
import { isReadable, isToolTurn, speakerOf, toKnots, TurnBody } from '../parts/turn-card.tsx';
import type { Knot } from '../shapes/pair-calls.ts';
import { callDetail, summaryOf } from '../shapes/show-turn.ts';
import { useTitle } from '../state/app.ts';
import { count, firstLine, plural, visible } from '../state/format.ts';
import { useLoad } from '../state/load.ts';
import { layOut, type Tree } from '../state/tree.ts';
import type { TurnJson } from '../state/turn-window.ts';

const TURNS_SHOWN = 40;

interface Sides {
  readonly base: TurnJson | undefined;
  readonly left: Side;
  readonly right: Side;
}

interface Side {
  readonly name: string;
  readonly lane: number;
  readonly ids: readonly string[];
  readonly knots: readonly Knot<TurnJson>[];
}

async function readSides(left: string, right: string, signal: AbortSignal): Promise<Sides> {
  const [diff, leftTurn, rightTurn] = await Promise.all([
    ask('diffTurns', { id: left, other: right }, { signal }),
    ask('getTurn', { id: left, payload: 0 }, { signal }),
    ask('getTurn', { id: right, payload: 0 }, { signal }),
  ]);
  const side = async (ids: readonly string[], end: TurnJson): Promise<Side> => {
    const reads = ids
      .slice(0, TURNS_SHOWN)
      .map((id) => ask('getTurn', { id, payload: 65_536 }, { signal }));
    const tree = await ask('getTree', { id: end.context }, { signal }).catch(() => undefined);
    return { ids, ...nameIn(tree, end), knots: toKnots(await Promise.all(reads)) };
  };
  const [a, b, base] = await Promise.all([
    side(diff.left, leftTurn),
    side(diff.right, rightTurn),
    diff.base === undefined ? undefined : ask('getTurn', { id: diff.base, payload: 0 }, { signal }),
  ]);
  return { base, left: a, right: b };
}

/** A branch has the same name and colour everywhere. */
function nameIn(tree: Tree | undefined, { context }: TurnJson): Pick<Side, 'name' | 'lane'> {
  const branch = tree?.branches.find((one) => one.context === context);
  const lane = tree === undefined ? 0 : (layOut(tree).laneOf.get(context) ?? 0);
  return { name: branch?.title ?? branch?.name ?? `context ${context}`, lane };
}

/** Two branches side by side, from the last turn that they share. */
export function CompareView({ left, right }: { left: string; right: string }): JSX.Element {
  useTitle(`Turn ${count(left)} and turn ${count(right)}`);
  return (
    <main class="compare" aria-label="Compare two branches">
      <CompareColumns left={left} right={right} isWide />
    </main>
  );
}

export function CompareColumns({
  left,
  right,
  isWide = false,
}: {
  left: string;
  right: string;
  isWide?: boolean;
}): JSX.Element {
  const sides = useLoad(`${left}..${right}`, (signal) => readSides(left, right, signal));
  if (sides.error !== undefined) return <Trouble error={sides.error} again={sides.again} />;
  if (sides.value === undefined) return <Skeleton rows={6} />;
  const { base } = sides.value;
  return (
    <>
      <p class="muted">
        {base === undefined
          ? 'They share no turn.'
          : `Common ancestor: turn ${count(base.id)}, ${plural(base.depth + 1, 'turn')} shared.`}{' '}
        {!isWide && <Go to={{ at: 'compare', left, right }}>Wide view</Go>}
      </p>
      <div class="columns">
        <Column side={sides.value.left} isWide={isWide} />
        <Column side={sides.value.right} isWide={isWide} />
      </div>
      <Files sides={sides.value} />
    </>
  );
}

function Column({ side, isWide }: { side: Side; isWide: boolean }): JSX.Element {
  const { name, lane, ids, knots } = side;
  const read = knots.reduce((sum, { more }) => sum + 1 + more.length, 0);
  const tokens = knots.reduce((sum, { shown }) => sum + (shown.tokens?.output ?? 0), 0);
  return (
    <section class="column" style={{ borderColor: laneColour(lane) }}>
      <h2 class="title">{visible(name)}</h2>
      <p class="muted">
        {ids.length === 0 ? 'nothing of its own' : plural(ids.length, 'turn')}
        {tokens > 0 && `, ${plural(tokens, 'token')}`}
      </p>
      {knots.map((knot) => (
        <Said key={knot.turn.id} knot={knot} isWide={isWide} />
      ))}
      {ids.length > read && <p class="muted">and {plural(ids.length - read, 'more turn')}</p>}
    </section>
  );
}

function Said({ knot, isWide }: { knot: Knot<TurnJson>; isWide: boolean }): JSX.Element {
  const { turn, shown, answers } = knot;
  const to = { at: 'context', context: turn.context, turn: turn.id } as const;
  const isTool = isToolTurn(shown);
  if (isWide || turn.tombstone === true) {
    return (
      <div class="said">
        {!(isTool && isReadable(turn)) && (
          <Go to={to}>
            <b>{speakerOf(shown, turn.type)}</b>
          </Go>
        )}
        <TurnBody {...{ turn, shown, answers }} />
      </div>
    );
  }
  if (!isTool) {
    return (
      <div class="said">
        <Go to={to}>
          <b>{speakerOf(shown, turn.type)}</b>
        </Go>
        <p>{firstLine(summaryOf(shown), 200)}</p>
      </div>
    );
  }
  const failed = [...answers.values()].some(({ result }) => result.failed);
  return (
    <p class="said">
      <Go to={to}>
        <CallLine knot={knot} />
      </Go>{' '}
      {answers.size > 0 && <span class={failed ? 'bad' : 'good'}>{failed ? '✗' : '✓'}</span>}
    </p>
  );
}

function CallLine({ knot: { shown } }: { knot: Knot<TurnJson> }): JSX.Element {
  const [block] = shown.blocks;
  if (block?.kind !== 'call') return <>{firstLine(summaryOf(shown), 80)}</>;
  return (
    <>
      <b>{visible(block.name)}</b> {firstLine(callDetail(block.input), 80)}
    </>
  );
}

/** The files that calls of both sides changed, with their changes. */
function Files({ sides: { left, right } }: { sides: Sides }): JSX.Element | null {
  const [a, b] = [editsIn(left), editsIn(right)];
  const paths = [...new Set([...a.keys(), ...b.keys()])].sort();
  if (paths.length === 0) return null;
  return (
    <section>
      <h2>Files they changed</h2>
      {paths.map((path) => {
        const both = a.has(path) && b.has(path);
        return (
          <Fold
            key={path}
            label={path}
            note={both ? 'both' : visible(a.has(path) ? left.name : right.name)}
          >
            {[[left, a.get(path)] as const, [right, b.get(path)] as const].map(
              ([side, lines], at) =>
                lines !== undefined && (
                  <div key={at} class="edit" style={{ borderColor: laneColour(side.lane) }}>
                    <Diff lines={lines} />
                  </div>
                ),
            )}
          </Fold>
        );
      })}
    </section>
  );
}

function editsIn({ knots }: Side): ReadonlyMap<string, readonly DiffLine[]> {
  const edits = new Map<string, DiffLine[]>();
  for (const block of knots.flatMap(({ shown }) => shown.blocks)) {
    if (block.kind !== 'call') continue;
    const lines = editOf(block.input);
    const path = callDetail(block.input);
    if (lines === undefined || path === '' || path.includes('\n')) continue;
    const { added, removed } = changeCounts(lines);
    if (added + removed > 0) edits.set(path, [...(edits.get(path) ?? []), ...lines]);
  }
  return edits;
}
