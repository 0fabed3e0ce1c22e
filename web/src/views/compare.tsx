import type { JSX } from 'preact';
import { ask } from '../api/http.ts';
import { Go, Skeleton, Trouble } from '../parts/basics.tsx';
import { speakerOf } from '../parts/turn-card.tsx';
import { Blocks } from '../parts/blocks.tsx';
import { showPayload, summaryOf } from '../shapes/show-turn.ts';
import { firstLine, plural } from '../state/format.ts';
import { useLoad } from '../state/load.ts';
import type { TurnJson } from '../state/turn-window.ts';

const TURNS_SHOWN = 40;

interface Sides {
  readonly base: string | undefined;
  readonly left: Side;
  readonly right: Side;
}

interface Side {
  readonly ids: readonly string[];
  readonly turns: readonly TurnJson[];
}

async function readSides(left: string, right: string, signal: AbortSignal): Promise<Sides> {
  const diff = await ask('diffTurns', { id: left, other: right }, { signal });
  const side = async (ids: readonly string[]): Promise<Side> => {
    const reads = ids
      .slice(0, TURNS_SHOWN)
      .map((id) => ask('getTurn', { id, payload: 65_536 }, { signal }));
    return { ids, turns: await Promise.all(reads) };
  };
  const [a, b] = await Promise.all([side(diff.left), side(diff.right)]);
  return { base: diff.base, left: a, right: b };
}

/** Two branches side by side, from the last turn that they share. */
export function CompareView({ left, right }: { left: string; right: string }): JSX.Element {
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
        {base === undefined ? 'They share no turn.' : `Common ancestor: turn ${base}.`}{' '}
        {!isWide && <Go to={{ at: 'compare', left, right }}>Wide view</Go>}
      </p>
      <div class="columns">
        <Column side={sides.value.left} isWide={isWide} lane={0} />
        <Column side={sides.value.right} isWide={isWide} lane={1} />
      </div>
    </>
  );
}

function Column({
  side,
  isWide,
  lane,
}: {
  side: Side;
  isWide: boolean;
  lane: number;
}): JSX.Element {
  const rest = side.ids.length - side.turns.length;
  return (
    <section class={`column lane-${lane}`}>
      <p class="muted">{plural(side.ids.length, 'turn')} of its own</p>
      {side.turns.map((turn) => {
        const shown = showPayload(turn.payload, turn.type);
        return (
          <div key={turn.id} class="said">
            <Go to={{ at: 'context', context: turn.context, turn: turn.id }}>
              <b>{speakerOf(shown, turn.type)}</b>
            </Go>
            {isWide ? <Blocks blocks={shown.blocks} /> : <p>{firstLine(summaryOf(shown), 200)}</p>}
          </div>
        );
      })}
      {rest > 0 && <p class="muted">and {plural(rest, 'more turn')}</p>}
    </section>
  );
}
