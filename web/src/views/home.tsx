import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { ask } from '../api/http.ts';
import { Empty } from '../parts/basics.tsx';
import { onStoreEvent } from '../state/app.ts';
import { bytes, count } from '../state/format.ts';
import { useLoad } from '../state/load.ts';
import { Quipu } from './quipu.tsx';

const WEEKS = 53;
const DAY_MS = 86_400_000;
const CORDS = 40;
/** Months are named where their first week begins, three columns apart at least. */
const MONTH = new Intl.DateTimeFormat('en', { month: 'short', timeZone: 'UTC' });

/** The store at a glance: counts, storage, sharing and a year of activity. The list stands beside it. */
export function HomeView(): JSX.Element {
  const stats = useLoad('stats', (signal) => ask('getStats', {}, { signal }));
  const activity = useLoad('activity', (signal) =>
    ask('getActivity', { days: WEEKS * 7 }, { signal }),
  );
  const newest = useLoad('newest', (signal) => ask('listAll', { limit: CORDS }, { signal }));
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = onStoreEvent(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        stats.again();
        activity.again();
        newest.again();
      }, 5000);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, []);
  const { value } = stats;
  return (
    <main class="home">
      <h2 class="large">Everything that was said</h2>
      {value === undefined ? (
        <div class="figures skeleton" />
      ) : (
        <dl class="figures">
          <Figure name="turns" value={count(value.turns)} />
          <Figure name="contexts" value={count(value.contexts)} />
          <Figure name="written" value={bytes(value.logicalBytes)} />
          <Figure name="stored" value={bytes(value.storedBytes)} />
          <Figure name="each byte is used" value={times(value.logicalBytes, value.blobBytes)} />
          <Figure name="on disk" value={bytes(value.diskBytes)} />
        </dl>
      )}
      <h2>The newest threads as a quipu</h2>
      {newest.value === undefined ? (
        <div class="quipu skeleton" />
      ) : (
        <Quipu threads={newest.value.items} cords={CORDS} />
      )}
      <h2>Activity</h2>
      {activity.value === undefined ? (
        <div class="heat skeleton" />
      ) : (
        <HeatMap days={activity.value.days} />
      )}
      {value?.turns === 0 && (
        <Empty title="This store is empty. Bring your history:" command="quipu import" />
      )}
    </main>
  );
}

function Figure({ name, value }: { name: string; value: string }): JSX.Element {
  return (
    <div>
      <dd>{value}</dd>
      <dt>{name}</dt>
    </div>
  );
}

function times(logical: number, stored: number): string {
  return stored === 0 ? '–' : `${(logical / stored).toFixed(1)}×`;
}

/** A square for each day of the last year, a column for each week. */
function HeatMap({ days }: { days: readonly { day: string; turns: number }[] }): JSX.Element {
  const { columns, most } = useMemo(() => {
    const turnsOf = new Map(days.map(({ day, turns }) => [day, turns]));
    const today = new Date();
    const end = Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate());
    const weekday = (today.getUTCDay() + 6) % 7;
    const start = end - (WEEKS - 1) * 7 * DAY_MS - weekday * DAY_MS;
    const weeks = Array.from({ length: WEEKS }, (_, week) =>
      Array.from({ length: 7 }, (_unused, row) => {
        const at = start + (week * 7 + row) * DAY_MS;
        const day = new Date(at).toISOString().slice(0, 10);
        return { day, turns: turnsOf.get(day) ?? 0, isFuture: at > end };
      }),
    );
    return { columns: weeks, most: Math.max(1, ...days.map(({ turns }) => turns)) };
  }, [days]);
  const total = days.reduce((sum, { turns }) => sum + turns, 0);
  return (
    <svg
      class="heat"
      viewBox={`0 -14 ${WEEKS * 13} 106`}
      role="img"
      aria-label={`${count(total)} turns in the last year`}
    >
      {monthsOf(columns.map(([first]) => first?.day ?? '')).map(([x, name]) => (
        <text key={x} x={x * 13} y="-4">
          {name}
        </text>
      ))}
      {columns.map((week, x) =>
        week.map(
          ({ day, turns, isFuture }, y) =>
            !isFuture && (
              <rect
                key={day}
                x={x * 13}
                y={y * 13}
                width="11"
                height="11"
                rx="2"
                class={`level-${levelOf(turns, most)}`}
              >
                <title>{`${day}: ${count(turns)} turns`}</title>
              </rect>
            ),
        ),
      )}
    </svg>
  );
}

/** The columns in which a month begins, without those that would touch the next. */
function monthsOf(days: readonly string[]): [x: number, name: string][] {
  const begins = days.flatMap((day, x): [number, string][] =>
    x > 0 && day.slice(0, 7) === days[x - 1]?.slice(0, 7) ? [] : [[x, MONTH.format(new Date(day))]],
  );
  return begins.filter(([x], at) => (begins[at + 1]?.[0] ?? x + 3) - x >= 3);
}

/** Four levels on a logarithmic scale: one busy day does not pale the others. */
export function levelOf(turns: number, most: number): number {
  if (turns === 0) return 0;
  return Math.min(4, 1 + Math.floor((4 * Math.log1p(turns)) / Math.log1p(most + 1)));
}
