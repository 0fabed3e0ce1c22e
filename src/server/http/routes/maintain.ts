import { z } from 'zod';
import type { Progress } from '../../../engine/progress.ts';
import type { Maintain } from '../../../store/maintain.ts';
import { tellProgress } from '../../calls/long-answers.ts';
import { eventReply } from '../exchange/event-stream.ts';
import type { SentEvent } from '../exchange/event-stream.ts';
import { jsonReply, route } from '../exchange/route.ts';
import type { HttpRequest, Reply, Route } from '../exchange/route.ts';

const report = z.record(z.string(), z.unknown());
const bytes = z.number();
const stats = z.strictObject({
  engine: z.string(),
  durability: z.enum(['safe', 'unsafe']),
  turns: z.number(),
  contexts: z.number(),
  patches: z.number(),
  blobs: z.number(),
  logs: z.number(),
  docs: z.number(),
  blobBytes: bytes.describe('Raw bytes of all distinct blobs'),
  storedBytes: bytes.describe('What they take on disk'),
  logicalBytes: bytes.describe('Payload bytes of all turns, each counted as often as it is used'),
  diskBytes: bytes.describe('Everything that the store takes on disk'),
  disk: z.array(z.strictObject({ part: z.string(), bytes })).describe('Its parts, largest first'),
  sharingRatio: z.number(),
  compressionRatio: z.number(),
  journal: z.strictObject({ frames: z.number(), broken: z.boolean() }).optional(),
  lastBackup: z.strictObject({ at: z.number() }).optional().describe('Absent when none was made'),
  damage: z.array(z.strictObject({ file: z.string(), offset: z.number(), what: z.string() })),
});
const STATS_EXAMPLE = {
  engine: 'files',
  durability: 'safe',
  turns: 3,
  contexts: 1,
  patches: 0,
  blobs: 3,
  logs: 0,
  docs: 0,
  blobBytes: 300,
  storedBytes: 240,
  logicalBytes: 300,
  diskBytes: 4_200_000,
  disk: [
    { part: 'journal', bytes: 4_199_760 },
    { part: 'blobs', bytes: 240 },
  ],
  sharingRatio: 1,
  compressionRatio: 1.25,
  journal: { frames: 2, broken: false },
  lastBackup: { at: 1_790_000_000_000 },
  damage: [],
};
const ANSWER = 'The report; with Accept: text/event-stream events `progress`, then `result`';
const GC_EXAMPLE = { dryRun: true, deadBlobs: 12, deadBytes: 48_000, freedBytes: 0 };

/** Runs a maintenance task that a client asked for. */
type Task = (maintain: Maintain, progress: Progress) => Promise<unknown>;

export const maintainRoutes: readonly Route[] = [
  route.get('/v1/stats', {
    name: 'getStats',
    summary: 'Counts, sizes, what sharing and compression save, and known damage',
    answer: { what: 'The figures', json: stats, example: STATS_EXAMPLE },
    give: ({ store }) => store.maintain.stats(),
  }),

  route.post('/v1/maintain/gc', {
    name: 'collectGarbage',
    summary: 'Garbage collection: remove data that nothing uses',
    needs: 'admin',
    body: {
      json: z.strictObject({
        dryRun: z.boolean().optional(),
        graceMs: z.number().min(0).optional(),
        all: z.boolean().optional(),
      }),
      optional: true,
      example: { dryRun: true },
    },
    answer: { what: ANSWER, json: report, example: GC_EXAMPLE },
    run: ({ body, request }) =>
      runTask('gc', request, (maintain, progress) => maintain.gc({ ...body, progress })),
  }),

  route.post('/v1/maintain/verify', {
    name: 'verifyStore',
    summary: 'Read everything and check every checksum, hash and link',
    needs: 'admin',
    body: {
      json: z.strictObject({ repair: z.boolean().optional() }),
      optional: true,
      example: { repair: false },
    },
    answer: { what: ANSWER, json: report, example: { ok: true, problems: [] } },
    run: ({ body, request }) =>
      runTask('verify', request, (maintain, progress) => maintain.verify({ ...body, progress })),
  }),

  route.post('/v1/maintain/backup', {
    name: 'backupStore',
    summary: 'Copy the store into a folder on the server; later runs copy only what is new',
    needs: 'admin',
    body: { json: z.strictObject({ to: z.string().min(1) }), example: { to: '/backups/agents' } },
    answer: {
      what: ANSWER,
      json: report,
      example: { files: 12, copiedBytes: 90_000 },
    },
    run: ({ body, request }) =>
      runTask('backup', request, (maintain, progress) => maintain.backup(body.to, progress)),
  }),

  route.post('/v1/maintain/retain', {
    name: 'retainContexts',
    summary: 'Remove contexts by age, size and label',
    needs: 'admin',
    body: {
      json: z.strictObject({
        maxAgeMs: z.number().min(0).optional(),
        maxBytes: z.number().min(0).optional(),
        keep: z.number().min(0).optional(),
        label: z.string().optional(),
        dryRun: z.boolean().optional(),
      }),
      example: { maxAgeMs: 2_592_000_000, dryRun: true },
    },
    answer: { what: ANSWER, json: report, example: { removed: [] } },
    run: ({ body: { dryRun = false, ...policy }, request }) =>
      runTask('retain', request, (maintain) => maintain.retain(policy, { dryRun })),
  }),

  route.post('/v1/maintain/checkpoint', {
    name: 'checkpoint',
    summary: 'Write a checkpoint, so that the next opening is fast',
    needs: 'admin',
    answer: { what: 'It is done', json: report, example: {} },
    run: ({ request }) => runTask('checkpoint', request, (maintain) => maintain.checkpoint()),
  }),

  route.post('/v1/maintain/reindex', {
    name: 'reindex',
    summary: 'Rebuild every accelerator from the truth',
    needs: 'admin',
    answer: { what: ANSWER, json: report, example: {} },
    run: ({ request }) =>
      runTask('reindex', request, (maintain, progress) => maintain.reindex(progress)),
  }),
];

/** Work that has begun goes on when its caller goes away: half of it helps nobody. */
async function runTask(name: string, request: HttpRequest, task: Task): Promise<Reply> {
  const { served, metrics } = request.service;
  async function timed(progress: Progress): Promise<unknown> {
    const startedMs = performance.now();
    let ok = false;
    try {
      const result = await task(served.store.maintain, progress);
      ok = true;
      return result;
    } finally {
      metrics.upkeep(name, performance.now() - startedMs, ok);
    }
  }
  if (!(request.header('accept') ?? '').includes('text/event-stream')) {
    return jsonReply((await timed(() => undefined)) ?? {});
  }
  return eventReply(toEvents(tellProgress(timed)), request);
}

async function* toEvents(
  steps: AsyncIterable<unknown>,
): AsyncGenerator<SentEvent, void, undefined> {
  for await (const step of steps) {
    const { progress, result } = step as { progress?: Parameters<Progress>; result?: unknown };
    if (progress === undefined) yield { event: 'result', data: result ?? {} };
    else {
      const [done, total, what] = progress;
      yield { event: 'progress', data: { done, total, what } };
    }
  }
}
