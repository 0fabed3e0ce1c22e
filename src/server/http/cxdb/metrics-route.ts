import { statfs } from 'node:fs/promises';
import { freemem, totalmem } from 'node:os';
import { z } from 'zod';
import type { EngineStats } from '../../../engine/engine.ts';
import type { Flow } from '../../metrics/recent-requests.ts';
import type { HttpService, Route } from '../exchange/route.ts';
import { route } from '../exchange/route.ts';
import { lenientCount } from './face.ts';
import { readRegistry } from './type-registry.ts';

// The figures that cxdb's page shows. It takes every one for granted, so all are there. A file that this store does not
// have is 0 bytes long. Rates count requests of both protocols.

const ERRORS_MAX = 256;
const MINUTE_S = 60;
/** Shares of the budget of the server at which cxdb's page changes its colour. */
const LEVELS = [
  [0.92, 'CRITICAL'],
  [0.8, 'HOT'],
  [0.6, 'WARN'],
] as const;

export const cxdbMetricsRoutes: readonly Route[] = [
  route.get('/v1/metrics', {
    name: 'cxdbMetrics',
    summary: 'Figures of the server and the store as JSON, in the words of cxdb',
    query: z.object({}),
    answer: {
      what: 'Objects, bytes, memory, rates, times and errors',
      json: z.looseObject({ ts: z.string(), objects: z.looseObject({ turns_total: z.int() }) }),
      example: {
        ts: '2026-11-15T12:00:00.000Z',
        uptime_seconds: 12.5,
        objects: { contexts_total: 1, turns_total: 2, blobs_total: 2 },
      },
    },
    async give({ request: { service }, engine }) {
      const [stats, registry] = await Promise.all([engine.stats(), readRegistry(engine)]);
      const failures = service.metrics.recent.failureCounts();
      return {
        ts: new Date().toISOString(),
        uptime_seconds: process.uptime(),
        memory: memoryOf(service),
        sessions: sessionsOf(service),
        objects: {
          contexts_total: stats.contexts,
          heads_total: stats.contexts,
          turns_total: stats.turns,
          blobs_total: stats.blobs,
          registry_types_total: registry.types.size,
          registry_bundles_total: registry.bundles.length,
        },
        storage: await storageOf(service, stats),
        filesystem: { snapshots_total: 0, index_bytes: 0, content_bytes: 0 },
        perf: perfOf(service),
        errors: {
          total: Object.values(failures).reduce((sum, count) => sum + count, 0),
          by_type: failures,
        },
      };
    },
  }),
  route.get('/v1/errors', {
    name: 'cxdbErrors',
    summary: 'Requests that failed lately, newest first, in the words of cxdb',
    query: z.object({ limit: lenientCount(50, ERRORS_MAX) }),
    answer: {
      what: 'Paths without their queries',
      json: z.strictObject({ errors: z.array(z.looseObject({ status_code: z.int() })) }),
      example: {
        errors: [
          {
            timestamp_ms: 1_790_000_000_000,
            kind: 'http',
            status_code: 404,
            message: 'there is no context 9',
            path: '/v1/contexts/9',
          },
        ],
      },
    },
    give({ query: { limit }, request }) {
      const errors = request.service.metrics.recent.failures(limit).map((one) => ({
        timestamp_ms: one.atMs,
        kind: one.protocol,
        status_code: one.status,
        message: one.message,
        ...(one.path !== undefined && { path: one.path }),
      }));
      return { errors };
    },
  }),
];

function memoryOf({ budget }: HttpService): object {
  const { rss, heapUsed } = process.memoryUsage();
  const ratio = budget.held / budget.limit;
  return {
    sys_total_bytes: totalmem(),
    sys_available_bytes: freemem(),
    sys_free_bytes: freemem(),
    sys_cached_bytes: 0,
    sys_swap_total_bytes: 0,
    sys_swap_free_bytes: 0,
    process_rss_bytes: rss,
    process_vmem_bytes: rss,
    process_heap_bytes: heapUsed,
    process_open_fds: null,
    budget_bytes: budget.limit,
    budget_pct: budget.limit / totalmem(),
    hard_cap_bytes: budget.limit,
    pressure_ratio: ratio,
    pressure_level: LEVELS.find(([share]) => ratio >= share)?.[1] ?? 'OK',
    spill_threshold_bytes: budget.limit,
    spill_critical_bytes: budget.limit,
    held_bytes: budget.held,
  };
}

/** Connections of the binary protocol. Nobody counts those that only wait. */
function sessionsOf({ metrics: { recent } }: HttpService): object {
  const { open, total } = recent.connections;
  return { total, active: open, idle: 0, last_activity_unix_ms: recent.usedAtMs };
}

async function storageOf({ storeName }: HttpService, stats: EngineStats): Promise<object> {
  return {
    turns_log_bytes: 0,
    turns_index_bytes: 0,
    turns_meta_bytes: 0,
    heads_table_bytes: 0,
    blobs_pack_bytes: stats.storedBytes,
    blobs_index_bytes: 0,
    ...(await diskOf(storeName)),
  };
}

/** Of the disk with the folder, as its page wants it. 0 for a store that is no folder here. */
async function diskOf(folder: string): Promise<object> {
  const { blocks, bavail, bsize } = await statfs(folder).catch(() => NO_DISK);
  return { data_dir_total_bytes: blocks * bsize, data_dir_free_bytes: bavail * bsize };
}

const NO_DISK = { blocks: 0, bavail: 0, bsize: 0 };

/** Its page shows a dash where nothing was measured. */
function latencyOf(flow: Flow): object {
  const times = flow.times();
  return times.count > 0 ? times : { ...times, p50: null, p95: null, p99: null, max: null };
}

function perfOf({ metrics: { recent } }: HttpService): object {
  const nowMs = Date.now();
  const rates = (name: string, flow: Flow): object => ({
    [`${name}_tps_1m`]: flow.rate(MINUTE_S, nowMs),
    [`${name}_tps_5m`]: flow.rate(5 * MINUTE_S, nowMs),
    [`${name}_tps_history`]: flow.history(MINUTE_S, nowMs),
  });
  return {
    ...rates('append', recent.appends),
    ...rates('get_last', recent.pages),
    ...rates('get_blob', recent.blobs),
    ...rates('registry_ingest', recent.types),
    ...rates('http_req', recent.http),
    ...rates('http_errors', recent.httpFailures),
    append_latency_ms: latencyOf(recent.appends),
    get_last_latency_ms: latencyOf(recent.pages),
    get_blob_latency_ms: latencyOf(recent.blobs),
    http_latency_ms: latencyOf(recent.http),
  };
}
