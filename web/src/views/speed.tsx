import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ask } from '../api/http.ts';
import { readMetrics, toSteps, type Sample } from '../state/metrics.ts';

// Appends and latency since the view was opened, from the metrics of the server.

const SAMPLE_MS = 2000;
const SAMPLES = 60;

export function Speed(): JSX.Element {
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  useEffect(() => {
    const read = async (): Promise<void> => {
      const text = (await ask('metrics', {})) as unknown as string;
      setSamples((old) => [...old, readMetrics(text, performance.now())].slice(-SAMPLES));
    };
    const tick = (): void => void read().catch(() => undefined);
    tick();
    const timer = setInterval(tick, SAMPLE_MS);
    return () => clearInterval(timer);
  }, []);
  const steps = toSteps(samples);
  const now = steps.at(-1);
  return (
    <section>
      <h2>Speed</h2>
      <Sparkline
        value={(now?.appends ?? 0).toFixed(1)}
        unit="appends a second"
        values={steps.map(({ appends }) => appends)}
      />
      <Sparkline
        value={(now?.ms ?? 0).toFixed(2)}
        unit="ms for a request, on average"
        values={steps.map(({ ms }) => ms)}
      />
    </section>
  );
}

function Sparkline({
  value,
  unit,
  values,
}: {
  value: string;
  unit: string;
  values: readonly number[];
}): JSX.Element {
  const most = Math.max(1e-9, ...values);
  const left = SAMPLES - 1 - values.length;
  const points = values.map((one, at) => {
    const x = ((left + at) / (SAMPLES - 2)) * 300;
    return `${x.toFixed(1)},${(38 - (one / most) * 34).toFixed(1)}`;
  });
  return (
    <figure class="spark">
      <figcaption>
        <b>{value}</b> {unit}
      </figcaption>
      <svg viewBox="0 0 300 40" preserveAspectRatio="none" aria-hidden="true">
        <path d="M0 38H300" />
        <polyline points={points.join(' ')} />
      </svg>
    </figure>
  );
}
