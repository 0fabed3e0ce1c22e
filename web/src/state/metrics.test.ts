import { expect, it } from 'vitest';
import { readMetrics, toSteps } from './metrics.ts';

const TEXT = `# HELP quipu_request_duration_seconds Time
quipu_request_duration_seconds_bucket{protocol="http",kind="x",le="0.1"} 7
quipu_request_duration_seconds_sum{protocol="http",kind="x"} 0.5
quipu_request_duration_seconds_count{protocol="http",kind="x"} 7
quipu_request_duration_seconds_sum{protocol="binary",kind="y"} 0.25
quipu_request_duration_seconds_count{protocol="binary",kind="y"} 3
quipu_records_total{record="turn"} 40
quipu_records_total{record="turn_opened"} 9
quipu_records_total{record="turn_sealed"} 2
`;

it('sums the counters of the server over their labels', () => {
  expect(readMetrics(TEXT, 1)).toEqual({ atMs: 1, appends: 42, requests: 10, seconds: 0.75 });
});

it('gives rates between samples, and none below zero when the server began anew', () => {
  const sample = (atMs: number, appends: number, requests: number, seconds: number): never =>
    ({ atMs, appends, requests, seconds }) as never;
  const steps = toSteps([sample(0, 0, 0, 0), sample(2000, 10, 4, 0.02), sample(4000, 0, 0, 0)]);
  expect(steps).toEqual([
    { appends: 5, ms: 5 },
    { appends: 0, ms: 0 },
  ]);
});
