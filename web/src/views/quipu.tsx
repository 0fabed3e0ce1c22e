import type { JSX } from 'preact';
import { laneColour } from '../parts/basics.tsx';
import { go, hrefOf } from '../state/app.ts';
import { firstLine, plural } from '../state/format.ts';
import { clustersOf, knotHeight } from '../state/quipu.ts';
import { UNITS, viewOf, type ThreadItem } from './side-list.tsx';

const WIDTH = 680;
const CORDS_LEAST = 20;
const TOP = 10;
const LENGTH = 132;
const COLOURS: Readonly<Record<ThreadItem['kind'], number>> = {
  context: 0,
  chat: 1,
  workflow: 2,
  session: 3,
  queue: 4,
};

/** The newest threads as cords of a quipu. The knots of a cord count what was said: thousands, hundreds, tens, ones. */
export function Quipu({
  threads,
  cords,
}: {
  threads: readonly ThreadItem[];
  cords: number;
}): JSX.Element {
  const kinds = [...new Set(threads.map(({ kind }) => kind))];
  const step = WIDTH / Math.min(cords, Math.max(CORDS_LEAST, threads.length));
  return (
    <figure class="quipu">
      <svg viewBox={`0 0 ${WIDTH} ${TOP + LENGTH + 8}`}>
        <path class="main" d={`M3 ${TOP}H${WIDTH - 3}`} />
        {threads.slice(0, cords).map((thread, at) => (
          <Cord
            key={`${thread.kind}/${thread.id}`}
            thread={thread}
            x={(at + 0.5) * step}
            step={step}
          />
        ))}
      </svg>
      <figcaption>
        {kinds.map((kind) => (
          <span key={kind}>
            <i aria-hidden="true" style={{ background: laneColour(COLOURS[kind]) }} />
            {kind}
          </span>
        ))}
        <span>the knots of a cord count its turns: thousands, hundreds, tens, ones</span>
      </figcaption>
    </figure>
  );
}

function Cord({ thread, x, step }: { thread: ThreadItem; x: number; step: number }): JSX.Element {
  const { kind, turns = 0 } = thread;
  const to = viewOf(thread);
  const name = `${firstLine(thread.title, 80)}, ${plural(turns, ...UNITS[kind])}`;
  const clusters = clustersOf(turns);
  const length = LENGTH * (turns === 0 ? 0.3 : 1);
  return (
    <a
      href={hrefOf(to)}
      aria-label={name}
      style={{ color: laneColour(COLOURS[kind]) }}
      onClick={(event) => {
        if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        go(to);
      }}
    >
      <title>{name}</title>
      <rect class="reach" x={x - step / 2} y={TOP} width={step} height={LENGTH} />
      <path d={`M${x} ${TOP}V${TOP + length}`} />
      {clusters.flatMap((cluster) =>
        Array.from({ length: cluster.knots }, (_, knot) => (
          <circle
            key={`${cluster.place}/${knot}`}
            cx={x}
            cy={TOP + knotHeight(cluster, knot, LENGTH)}
            r="2.3"
          />
        )),
      )}
    </a>
  );
}
