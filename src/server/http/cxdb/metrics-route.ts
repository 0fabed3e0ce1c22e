import { freemem, totalmem } from 'node:os';
import { z } from 'zod';
import type { Engine, EngineStats } from '../../../engine/engine.ts';
import { defineRoute, jsonReply } from '../exchange/route.ts';
import type { Route } from '../exchange/route.ts';
import { readRegistry } from './type-registry.ts';

// The figures of cxdb's page that this server knows. Its latencies and counts of requests are at /metrics, for
// Prometheus; what is not measured is left out, and never made up.

interface Sample {
  readonly atMs: number;
  readonly turns: number;
  readonly perSecond: number;
}

/** The last look at a store, to tell how fast it grows since. */
const samples = new WeakMap<Engine, Sample>();

export const cxdbMetricsRoute: Route = defineRoute({
  method: 'get',
  path: '/v1/metrics',
  name: 'cxdbMetrics',
  summary: 'Figures of the server and the store as JSON, in the words of cxdb',
  needs: 'read',
  query: z.object({}),
  answer: {
    what: 'Objects, bytes and memory',
    json: z.looseObject({ ts: z.string(), objects: z.looseObject({ turns_total: z.int() }) }),
    example: {
      ts: '2026-11-15T12:00:00.000Z',
      uptime_seconds: 12.5,
      objects: { contexts_total: 1, turns_total: 2, blobs_total: 2 },
    },
  },
  async run({ request }) {
    const { engine } = request.service.served;
    const [stats, registry] = await Promise.all([engine.stats(), readRegistry(engine)]);
    return jsonReply({
      ts: new Date().toISOString(),
      uptime_seconds: process.uptime(),
      memory: {
        sys_total_bytes: totalmem(),
        sys_free_bytes: freemem(),
        process_rss_bytes: process.memoryUsage.rss(),
        process_heap_bytes: process.memoryUsage().heapUsed,
        held_bytes: request.service.budget.held,
      },
      objects: {
        contexts_total: stats.contexts,
        heads_total: stats.contexts,
        turns_total: stats.turns,
        blobs_total: stats.blobs,
        registry_types_total: registry.types.size,
        registry_bundles_total: registry.bundles.length,
      },
      storage: { blobs_pack_bytes: stats.storedBytes, data_dir_total_bytes: stats.diskBytes },
      perf: { append_tps_1m: appendsPerSecond(engine, stats) },
      errors: { total: stats.damage.length },
    });
  },
});

/** Turns per second, averaged over about a minute. */
function appendsPerSecond(engine: Engine, { turns }: EngineStats): number {
  const atMs = performance.now();
  const before = samples.get(engine);
  if (before === undefined) {
    samples.set(engine, { atMs, turns, perSecond: 0 });
    return 0;
  }
  const seconds = Math.max(0.001, (atMs - before.atMs) / 1000);
  const rate = Math.max(0, turns - before.turns) / seconds;
  const weight = 1 - Math.exp(-seconds / 60);
  const perSecond = before.perSecond + weight * (rate - before.perSecond);
  samples.set(engine, { atMs, turns, perSecond });
  return perSecond;
}
