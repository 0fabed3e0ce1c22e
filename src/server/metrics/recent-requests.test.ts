import { expect, it } from 'vitest';
import { Flow, RecentRequests } from './recent-requests.ts';

it('counts by second, and forgets what is older than five minutes', () => {
  const flow = new Flow();
  for (const atMs of [1000, 1500, 2999, 61_000]) flow.add(atMs, atMs / 1000);
  expect(flow.history(3, 61_500)).toEqual([0, 0, 1]);
  expect(flow.rate(60, 61_500)).toBeCloseTo(2 / 60);
  expect(flow.rate(300, 61_500)).toBeCloseTo(4 / 300);
  expect(flow.rate(300, 301_000)).toBeCloseTo(2 / 300);
  expect(flow.rate(300, 10_000_000)).toBe(0);
  // A clock that was set back loses nothing that was counted.
  flow.add(9_000_000);
  expect(flow.rate(300, 10_000_000)).toBeCloseTo(1 / 300);
  expect(flow.times()).toEqual({ p50: 2.999, p95: 61, p99: 61, max: 61, count: 4 });
  expect(new Flow().times()).toEqual({ p50: 0, p95: 0, p99: 0, max: 0, count: 0 });
});

it('keeps the last failures, each of a bounded size', () => {
  let now = 0;
  const recent = new RecentRequests(() => (now += 1));
  for (let n = 0; n < 300; n += 1) {
    recent.failed({
      protocol: 'http',
      status: 404,
      message: `${n} ${'x'.repeat(9999)}`,
      path: '/',
    });
  }
  const failures = recent.failures(1000);
  expect(failures).toHaveLength(256);
  expect(failures[0]).toMatchObject({ atMs: 300, status: 404, path: '/' });
  expect(failures[0]?.message.slice(0, 5)).toBe('299 x');
  expect(failures[0]?.message).toHaveLength(500);
  expect(recent.failures(2).map(({ atMs }) => atMs)).toEqual([300, 299]);
  expect(recent.failureCounts()).toEqual({ http: 300 });
});

it('tells requests apart by what they do', () => {
  const recent = new RecentRequests(() => 5000);
  recent.request('binary', 'APPEND_TURN', 2, true);
  recent.request('http', 'appendCxdbTurn', 3, true);
  recent.request('http', 'getBlob', 1, false);
  recent.connected(1);
  recent.connected(1);
  recent.connected(-1);
  expect(recent.appends.times().count).toBe(2);
  expect(recent.blobs.times()).toMatchObject({ max: 1, count: 1 });
  expect(recent.http.history(1, 5000)).toEqual([2]);
  expect(recent.httpFailures.history(1, 5000)).toEqual([1]);
  expect(recent.connections).toEqual({ open: 1, total: 2 });
  expect(recent.usedAtMs).toBe(5000);
});
