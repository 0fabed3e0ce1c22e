import { QuipuError } from '../base/errors.ts';
import type { Change } from '../engine/batch.ts';
import type { Engine, Progress } from '../engine/engine.ts';
import type { Root, RootSource } from '../engine/roots.ts';
import type { Collection, SweepReport } from '../engine/upkeep.ts';
import { followLate, markLive, Marks, type MarkView } from './mark-live.ts';
import { readRefs, readTreeNames } from './named-blobs.ts';

export interface GcOptions {
  /** Only report what would be removed. */
  readonly dryRun?: boolean;
  /** Blobs younger than this stay: their writer may be about to refer to them. Default 10 minutes. */
  readonly graceMs?: number;
  /** Also rewrite packs that are mostly alive, for the last dead byte. Default false. */
  readonly all?: boolean;
  readonly progress?: Progress;
}

export interface GcReport extends SweepReport {
  /** Blobs that something refers to. */
  readonly liveBlobs: number;
  /** Blobs that nothing refers to and that are older than the grace period. */
  readonly deadBlobs: number;
  /** The bytes that the dead blobs take in the store. */
  readonly deadBytes: number;
  /** Blobs that nothing refers to yet, spared for their age. */
  readonly youngBlobs: number;
  /** Sessions whose files could not be read. While there is one, every blob that has a SHA-256 stays. */
  readonly unread: readonly string[];
  readonly dryRun: boolean;
}

export const GRACE_MS_DEFAULT: number = 10 * 60 * 1000;

/** Copying half a pack to free the other half is worth it; copying more is not. */
const DEAD_SHARE = 0.5;

const NOTHING_SWEPT: SweepReport = {
  removedBlobs: 0,
  freedBytes: 0,
  keptDeadBytes: 0,
  skippedForSpace: 0,
};

/**
 * Removes everything that no root leads to, while readers and writers go on. The collection listens before it reads the
 * first root. So everything that a later commit relies on is alive, whether or not the mark finds it.
 */
export async function collectGarbage(
  engine: Engine,
  sources: readonly RootSource[],
  options: GcOptions = {},
): Promise<GcReport> {
  const { dryRun = false, graceMs = GRACE_MS_DEFAULT, all = false, progress } = options;
  const marks = new Marks();
  const hear = (change: Change): void => {
    for (const source of sources) for (const root of source.rootsIn(change)) marks.add(root);
  };
  const stopListening = engine.subscribe(hear);
  try {
    const collection = await engine.upkeep.startCollection({
      graceMs,
      reliance: { ...marks.reliance, change: hear },
    });
    try {
      const view = toView(engine, collection);
      await markLive(view, readRoots(sources), marks, progress);
      const counted = await countBlobs(collection, marks, progress);
      const swept = dryRun
        ? NOTHING_SWEPT
        : await collection.sweep(
            {
              isLive: (hash) => marks.isLive(hash),
              isLiveTurn: (turn) => marks.isLiveTurn(turn),
              changes: () => marks.changes,
              settle: async () => {
                for (const source of sources) {
                  for await (const root of source.late?.() ?? []) marks.add(root);
                }
                await followLate(view, marks);
              },
              deadShare: all ? 0 : DEAD_SHARE,
            },
            progress,
          );
      const unread = sources.flatMap((source) => source.unread?.() ?? []);
      return { ...counted, ...swept, unread, dryRun };
    } finally {
      await collection.end();
    }
  } finally {
    stopListening();
  }
}

function toView(engine: Engine, collection: Collection): MarkView {
  return {
    firstNewTurn: collection.firstNewTurn,
    openTurns: collection.openTurns,
    turns: () => collection.turns(),
    patches: () => collection.patches(),
    blobs: () => collection.blobs(),
    chunksOf: (hash) => collection.chunksOf(hash),
    refsOf: (hash) => readRefs(engine, hash),
    namesIn: (hash) => readTreeNames(engine, hash),
    fsRootOf: async (turn) => (await engine.getFsRoots([turn])).at(-1)?.root,
  };
}

async function* readRoots(sources: readonly RootSource[]): AsyncGenerator<Root> {
  for (const source of sources) {
    try {
      yield* source.roots();
    } catch (error) {
      throw stopped(source.kind, error);
    }
  }
}

/** If a root cannot be read, the collection cannot tell what is in use, so it removes nothing. */
function stopped(kind: string, error: unknown): unknown {
  if (!(error instanceof QuipuError)) return error;
  const message = `nothing was collected, because a root of ${kind} cannot be read: ${error.message}`;
  return new QuipuError(error.code, message, error.data, { cause: error });
}

async function countBlobs(
  collection: Collection,
  marks: Marks,
  progress: Progress = () => undefined,
): Promise<Pick<GcReport, 'liveBlobs' | 'deadBlobs' | 'deadBytes' | 'youngBlobs'>> {
  let [liveBlobs, deadBlobs, deadBytes, youngBlobs] = [0, 0, 0, 0];
  for await (const page of collection.blobs()) {
    for (const { hash, storedBytes, old } of page) {
      if (marks.isLive(hash)) liveBlobs += 1;
      else if (!old) youngBlobs += 1;
      else {
        deadBlobs += 1;
        deadBytes += storedBytes;
      }
    }
    progress(liveBlobs + deadBlobs + youngBlobs, 0, 'counting blobs');
  }
  return { liveBlobs, deadBlobs, deadBytes, youngBlobs };
}
