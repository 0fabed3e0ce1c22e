import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ask } from '../api/http.ts';
import { Skeleton, Trouble, KeyValues } from '../parts/basics.tsx';
import { scope } from '../state/app.ts';
import { bytes, count } from '../state/format.ts';
import { useLoad } from '../state/load.ts';

/** The figures that the page shows of a store. */
export interface Stats {
  readonly engine: string;
  readonly durability: string;
  readonly turns: number;
  readonly contexts: number;
  readonly blobs: number;
  readonly patches: number;
  readonly logs: number;
  readonly docs: number;
  readonly blobBytes: number;
  readonly storedBytes: number;
  readonly logicalBytes: number;
  readonly diskBytes: number;
  readonly journal?: { frames: number; broken: boolean };
  readonly damage: readonly { file: string; offset: number; what: string }[];
}

const SAMPLE_MS = 2000;
const SAMPLES = 60;

/** Figures, health, disk and speed of the store. */
export function StoreView(): JSX.Element {
  const stats = useLoad('store', (signal) => ask('getStats', {}, { signal }));
  const health = useLoad('health', (signal) => ask('health', {}, { signal }));
  if (stats.error !== undefined && stats.value === undefined) {
    return <Trouble error={stats.error} again={stats.again} />;
  }
  const value = stats.value as Stats | undefined;
  return (
    <main class="store">
      {value === undefined ? (
        <Skeleton rows={6} />
      ) : (
        <div class="panels">
          <section>
            <h2>Health</h2>
            <KeyValues
              rows={[
                [
                  'server',
                  `${health.value?.status ?? '…'}, version ${health.value?.version ?? '…'}`,
                ],
                ['engine', value.engine],
                ['durability', value.durability],
                value.journal === undefined
                  ? undefined
                  : [
                      'journal',
                      value.journal.broken
                        ? 'broken: restart the server'
                        : `${count(value.journal.frames)} frames since the last checkpoint`,
                    ],
                [
                  'damage',
                  value.damage.length === 0 ? 'none known' : `${value.damage.length} places`,
                ],
              ]}
            />
            {value.damage.map((place) => (
              <p key={`${place.file}:${place.offset}`} class="bad">
                {place.file} at {place.offset}: {place.what}. Run <code>quipu verify --repair</code>
                .
              </p>
            ))}
            {scope.value === 'admin' && <Verify />}
          </section>
          <section>
            <h2>Storage</h2>
            <Bars
              rows={[
                ['written by agents', value.logicalBytes],
                ['after sharing', value.blobBytes],
                ['after compression', value.storedBytes],
                ['on disk, with all records', value.diskBytes],
              ]}
            />
          </section>
          <section>
            <h2>Records</h2>
            <KeyValues
              rows={[
                ['turns', count(value.turns)],
                ['contexts', count(value.contexts)],
                ['blobs', count(value.blobs)],
                ['patches', count(value.patches)],
                ['logs', count(value.logs)],
                ['documents', count(value.docs)],
              ]}
            />
          </section>
          <Speed />
        </div>
      )}
    </main>
  );
}

function Verify(): JSX.Element {
  const [result, setResult] = useState('');
  const run = async (): Promise<void> => {
    setResult('Reading everything …');
    try {
      const report = (await ask('verifyStore', {}, { body: {} })) as {
        ok: boolean;
        problems: readonly unknown[];
      };
      setResult(report.ok ? 'Everything can be read.' : `${report.problems.length} problems.`);
    } catch (error) {
      setResult((error as Error).message);
    }
  };
  return (
    <p>
      <button type="button" onClick={() => void run()}>
        Verify now
      </button>{' '}
      <span role="status">{result}</span>
    </p>
  );
}

function Bars({ rows }: { rows: readonly (readonly [name: string, size: number])[] }): JSX.Element {
  const most = Math.max(1, ...rows.map(([, size]) => size));
  return (
    <ul class="bars">
      {rows.map(([name, size]) => (
        <li key={name}>
          <span>{name}</span>
          <span class="track">
            <i style={{ width: `${(100 * size) / most}%` }} />
          </span>
          <b>{bytes(size)}</b>
        </li>
      ))}
    </ul>
  );
}

interface Sample {
  readonly requests: number;
  readonly seconds: number;
}

/** Requests and their time since the page was opened, from the server's metrics. */
function Speed(): JSX.Element {
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  useEffect(() => {
    const read = async (): Promise<void> => {
      const text = (await ask('metrics', {})) as unknown as string;
      setSamples((old) => [...old, readMetrics(text)].slice(-SAMPLES));
    };
    const tick = (): void => void read().catch(() => undefined);
    tick();
    const timer = setInterval(tick, SAMPLE_MS);
    return () => clearInterval(timer);
  }, []);
  const steps = samples.slice(1).map((sample, at) => {
    const requests = sample.requests - (samples[at]?.requests ?? 0);
    const seconds = sample.seconds - (samples[at]?.seconds ?? 0);
    return {
      rate: Math.max(0, requests / (SAMPLE_MS / 1000)),
      ms: requests > 0 ? (1000 * seconds) / requests : 0,
    };
  });
  const now = steps.at(-1);
  return (
    <section>
      <h2>Requests</h2>
      <Sparkline
        label={`${(now?.rate ?? 0).toFixed(1)} a second`}
        values={steps.map((s) => s.rate)}
      />
      <Sparkline label={`${(now?.ms ?? 0).toFixed(1)} ms each`} values={steps.map((s) => s.ms)} />
    </section>
  );
}

/** Sums the histogram of requests over all its labels. */
export function readMetrics(text: string): Sample {
  let requests = 0;
  let seconds = 0;
  for (const line of text.split('\n')) {
    const [, part, value] =
      /^quipu_request_(?:duration_)?seconds_(sum|count)\S* (\S+)$/.exec(line) ?? [];
    if (part === 'count') requests += Number(value);
    if (part === 'sum') seconds += Number(value);
  }
  return { requests, seconds };
}

function Sparkline({ label, values }: { label: string; values: readonly number[] }): JSX.Element {
  const most = Math.max(1e-9, ...values);
  const points = values.map((value, at) => {
    const x = (at / Math.max(1, SAMPLES - 2)) * 300;
    return `${x.toFixed(1)},${(38 - (value / most) * 36).toFixed(1)}`;
  });
  return (
    <figure class="spark">
      <svg viewBox="0 0 300 40" preserveAspectRatio="none" aria-hidden="true">
        <polyline points={points.join(' ')} />
      </svg>
      <figcaption>{label}</figcaption>
    </figure>
  );
}
