import fc from 'fast-check';
import { Histogram, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { Durations } from './create-metrics.ts';

const OPTIONS = { name: 'some_seconds', help: 'Some time.', buckets: [0.001, 0.5, 2] };

/** Ours and that of prom-client, with the same labels. */
function pair(): { ours: Durations; theirs: Histogram<'protocol' | 'kind'>; registry: Registry } {
  const registry = new Registry();
  const labelNames = ['protocol', 'kind'] as const;
  const theirs = new Histogram({ ...OPTIONS, labelNames, registers: [registry] });
  return { ours: new Durations({ ...OPTIONS, labels: labelNames }), theirs, registry };
}

it('prints nothing but its description before anything was observed', async () => {
  const { ours, registry } = pair();
  expect(`${ours.text()}\n`).toBe(await registry.metrics());
});

it('prints what a histogram of prom-client prints', async () => {
  const protocol = fc.constantFrom('http', 'binary');
  const kind = fc.constantFrom('APPEND_TURN', 'CALL engine.commit', 'a "quoted" \\ one');
  const seconds = fc.oneof(
    fc.double({ min: 0, max: 3, noNaN: true }),
    fc.constantFrom(...OPTIONS.buckets),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(protocol, kind, seconds)), async (observed) => {
      const { ours, theirs, registry } = pair();
      for (const [first, second, value] of observed) {
        ours.observe(first, second, value);
        theirs.observe({ protocol: first, kind: second }, value);
      }
      const lines = (text: string): string[] => text.trim().split('\n').toSorted();
      expect(lines(ours.text())).toEqual(lines(await registry.metrics()));
    }),
    { numRuns: 50 },
  );
});
