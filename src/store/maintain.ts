import { shown } from '../base/text.ts';
import { join } from 'node:path';
import { jsonable, type Jsonable } from '../base/jsonable.ts';
import { invalid } from '../base/errors.ts';
import type { Progress, EngineStats } from '../engine/engine.ts';
import { withCopies, type BackupReport, type FileCopies } from '../engine/upkeep.ts';
import type { QueueProblem } from '../queue/upkeep/queue-health.ts';
import { removeDrafts } from './create-blobs.ts';
import { queuesFolder, type QueuesPlace, type StoreHome } from './kinds.ts';
import type { GcOptions, GcReport } from '../maintain/collect-garbage.ts';
import type { RetainReport, RetentionPolicy } from '../maintain/retain-contexts.ts';
import type { VerifyOptions, VerifyReport } from '../maintain/verify-store.ts';

export interface Stats extends EngineStats {
  /**
   * Payload bytes of all turns per byte of distinct blobs: how much is saved because equal payloads are kept once. 1 when
   * nothing is shared. Blobs that are no payloads count among the blobs, so the real figure may be higher.
   */
  readonly sharingRatio: number;
  /** Bytes of distinct blobs per byte that they take on disk: how much compression saves. */
  readonly compressionRatio: number;
}

/** One of `gc`, `verify`, `backup` and the erasures runs at a time; another one gets LOCKED. */
export interface Maintain {
  stats(): Promise<Stats>;
  /** Makes the next opening fast; never needed for safety. */
  checkpoint(): Promise<void>;
  /** Rebuilds every accelerator from the truth. */
  reindex(progress?: Progress): Promise<void>;
  /**
   * Removes blobs and turns that no context, workflow thread, pin or patch leads to, while readers and writers go on.
   * Stops, and removes nothing, when something that may be in use cannot be read.
   */
  gc(options?: GcOptions): Promise<GcReport>;
  /** Reads everything and checks every checksum, hash and link. */
  verify(options?: VerifyOptions): Promise<VerifyReport>;
  /** Makes a consistent copy in the folder `to`; a second run copies only new data. */
  backup(to: string, progress?: Progress): Promise<BackupReport>;
  /** Removes contexts by age, size and label; `gc` then frees the data that only they led to. */
  retain(
    policy: RetentionPolicy,
    options?: { readonly dryRun?: boolean },
  ): Promise<Jsonable<RetainReport>>;
}

/** Removes contexts in the process that has the data. */
export interface Retaining {
  readonly retain: (
    policy: RetentionPolicy,
    options: { readonly dryRun: boolean },
  ) => Promise<RetainReport>;
}

/** Work that takes a module of its own loads the module when it is asked for: most processes never do. */
export function createMaintain(home: StoreHome, elsewhere?: Retaining): Maintain {
  const { engine, lifetime, clock, folder, queues, away } = home;
  return lifetime.guard('maintain', {
    async stats() {
      return withRatios(await engine.stats());
    },

    async checkpoint() {
      await engine.checkpoint();
    },

    async reindex(progress) {
      await engine.reindex(progress);
    },

    async gc(options = {}) {
      checkAmounts(options, ['graceMs']);
      if (options.dryRun !== true) {
        const { removeExpiredStreams } = await import('../stream/find-stream.ts');
        await removeExpiredStreams({ engine, clock });
      }
      const { GRACE_MS_DEFAULT, collectGarbage } = await import('../maintain/collect-garbage.ts');
      const { rootSources } = await import('./root-sources.ts');
      const report = await collectGarbage(engine, rootSources(engine, clock, folder), options);
      if (folder !== undefined && !report.dryRun) {
        await removeDrafts(folder, options.graceMs ?? GRACE_MS_DEFAULT);
      }
      return report;
    },

    async verify(options = {}) {
      const { verifyStore } = await import('../maintain/verify-store.ts');
      const report = await verifyStore(engine, options);
      const lost = options.repair === true ? await repairQueuesAt(queuesFolder(home)) : [];
      const damaged = [...lost, ...(await checkQueuesAt(queues))].map(({ queue, what }) => ({
        what,
        file: queuesFolder(home) === undefined ? 'queue_events' : `queues/${queue}/events.db`,
        offset: 0,
        id: queue,
        severity: 'lost' as const,
      }));
      const { findSessionProblems } = await import('./session-upkeep.ts');
      const more = await findSessionProblems(engine, { folder, away, known: report.problems });
      const problems = [...damaged, ...more];
      if (problems.length === 0) return report;
      return { ...report, ok: false, problems: [...report.problems, ...problems] };
    },

    async backup(to, progress) {
      if (typeof to !== 'string' || to === '') throw invalid('to', 'names a folder');
      return backUp(home, to, progress);
    },

    async retain(policy, options = {}) {
      checkAmounts(policy, ['maxAgeMs', 'maxBytes', 'keep']);
      if (policy.maxAgeMs === undefined && policy.maxBytes === undefined) {
        throw invalid('policy', 'needs maxAgeMs or maxBytes; without them nothing would ever go');
      }
      const { dryRun = false } = options;
      if (elsewhere !== undefined) return jsonable(await elsewhere.retain(policy, { dryRun }));
      const { retainContexts } = await import('../maintain/retain-contexts.ts');
      return jsonable(await retainContexts(engine, policy, { nowMs: clock(), dryRun }));
    },
  });
}

/** Returns the problems that could not be repaired. */
async function repairQueuesAt(folder: string | undefined): Promise<QueueProblem[]> {
  if (folder === undefined) return [];
  const { repairQueues } = await import('../queue/upkeep/queue-health.ts');
  return repairQueues(folder);
}

/** Adds the files that do not go through the engine after the engine's own. */
async function backUp(home: StoreHome, to: string, progress?: Progress): Promise<BackupReport> {
  const { engine, folder } = home;
  const copies: FileCopies[] = [];
  const report = await engine.upkeep.backup(to, progress, async () => {
    const queues = queuesFolder(home);
    if (queues !== undefined) {
      const { copyQueues } = await import('../queue/upkeep/queue-health.ts');
      copies.push(await copyQueues(queues, join(to, 'queues')));
    }
    if (folder !== undefined) {
      const { copySessions } = await import('./session-upkeep.ts');
      copies.push(await copySessions(engine, folder, to));
    }
  });
  return withCopies(report, copies);
}

async function checkQueuesAt(place: QueuesPlace | undefined): Promise<QueueProblem[]> {
  if (place === undefined || 'queues' in place) return [];
  if ('folder' in place) {
    const { checkQueues } = await import('../queue/upkeep/queue-health.ts');
    return checkQueues(place.folder);
  }
  const { checkPostgresQueues } = await import('../queue/postgres/postgres-records.ts');
  return checkPostgresQueues(place.database);
}

/** Each amount must be a number from 0 when it is given. */
function checkAmounts<K extends string>(
  given: { readonly [Name in K]?: number },
  names: readonly K[],
): void {
  for (const name of names) {
    const value = given[name];
    if (value === undefined || (Number.isFinite(value) && value >= 0)) continue;
    throw invalid(name, `must be a number from 0, got ${shown(value)}`);
  }
}

function withRatios(stats: EngineStats): Stats {
  const { logicalBytes, blobBytes, storedBytes } = stats;
  return {
    ...stats,
    sharingRatio: blobBytes === 0 ? 1 : Math.max(1, logicalBytes / blobBytes),
    compressionRatio: storedBytes === 0 ? 1 : blobBytes / storedBytes,
  };
}
