import { QuipuError, unsupported, locked } from '../../base/errors.ts';
import type { Capability, Engine } from '../../engine/engine.ts';
import type { Progress } from '../../engine/progress.ts';
import type { CheckReport, Problem } from '../../engine/upkeep.ts';
import { compareEngines } from './compare-engines.ts';
import { copyBlobs, type BlobCounts } from './copy-blobs.ts';
import { copyDocs, copyLogs, copyPatches, copyTurns } from './copy-records.ts';
import type { Pair } from './pair.ts';

// Makes one store the copy of another, whatever engines keep them.
//
// The state of the target says how far the copy is. Every step reads it there and continues behind it, so a copy that
// was cut off anywhere is resumed by beginning it again. Nothing is written before the target was found to hold only
// the beginning of this source. The target counts as a copy only after both were compared record by record, and the
// target's bytes were read and checked.

export interface CopyCounts extends BlobCounts {
  readonly turns: number;
  readonly contexts: number;
  readonly patches: number;
  readonly logLines: number;
  readonly docs: number;
}

export interface CopyEngineOptions {
  readonly progress?: Progress;
  /** Ends the copy between two steps. The copied records stay, and the next run continues behind them. */
  readonly signal?: AbortSignal;
}

/** Counts the records that this call copied, without those of an earlier call. */
export async function copyEngine(
  from: Engine,
  to: Engine,
  { progress = () => undefined, signal }: CopyEngineOptions = {},
): Promise<CopyCounts> {
  for (const engine of [from, to]) {
    assertCapable(engine.capabilities.adoption);
    assertCapable(engine.capabilities.collection);
  }
  await assertSealed(from);
  const pair: Pair = { from, to, progress, pause: () => signal?.throwIfAborted() };
  await checkSource(pair);
  await compareEngines(pair, 'so far');
  const blobs = await copyBlobs(pair);
  const { turns, contexts } = await copyTurns(pair);
  const patches = await copyPatches(pair);
  const logLines = await copyLogs(pair);
  const docs = await copyDocs(pair);
  await compareEngines(pair, 'whole');
  await checkTarget(pair);
  return { ...blobs, turns, contexts, patches, logLines, docs };
}

function assertCapable(capability: Capability): void {
  if (capability === true) return;
  throw unsupported(
    'copy',
    'a store elsewhere',
    `${capability.missing}; stop the server, and give the folder or the database that it serves`,
  );
}

/** A turn that is still being written to cannot be compared. */
async function assertSealed(from: Engine): Promise<void> {
  const [open] = (await from.tips()).open;
  if (open === undefined) return;
  throw locked(
    'turn',
    String(open),
    `turn ${open} is still being written to; seal or abort it, stop whoever writes, and try again`,
  );
}

/** Reads do not show all damage: if a record was lost with its name, nobody would know that it is missing. */
async function checkSource(pair: Pair): Promise<void> {
  const { problems, more } = await check(pair, pair.from);
  // Stale records are rebuilt in the copy. Problems that are not listed are unknown.
  const first = problems.find(({ severity }) => severity === 'lost') ?? problems[more > 0 ? 0 : -1];
  if (first === undefined) return;
  throw damaged(
    first,
    `the source is damaged, first in ${first.file}: ${first.what}. "quipu verify" says what is lost; restore it from a backup, or give a blob up with "quipu blob rm <hash> --everywhere", and copy again: what was copied before stays`,
  );
}

async function checkTarget(pair: Pair): Promise<void> {
  const { problems, more } = await check(pair, pair.to);
  const [first] = problems;
  if (first === undefined) return;
  throw damaged(
    first,
    `the copy has ${problems.length + more} problems, the first one in ${first.file}: ${first.what}. The source is as it was; look at the target's disk, then copy into an empty place`,
  );
}

async function check({ progress, pause }: Pair, engine: Engine): Promise<CheckReport> {
  const report = await engine.upkeep.check({
    repair: false,
    progress: (done, total, what) => progress(done, total, `checking ${what}`),
  });
  pause();
  return report;
}

function damaged({ file, offset }: Problem, message: string): QuipuError<'CORRUPT'> {
  return new QuipuError('CORRUPT', message, { file, offset });
}
