import { ERASED_RECORD_BYTES } from '../../../format/erased-record.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import type { Progress } from '../../progress.ts';
import type { BackupReport } from '../../upkeep.ts';
import type { Writer } from '../commit/writer.ts';
import { TRUTHS, fileLengths } from '../core/truths.ts';
import { logOfExtents } from '../logs/line-log.ts';
import { ERASED_FILE } from '../packs/erased-blobs.ts';
import { packNumber, packSize } from '../packs/pack-file.ts';
import {
  type Copied,
  type CopiedPack,
  type CopyJob,
  type CopyPhase,
  type CopySink,
  newCopied,
  type PackSpan,
} from '../truth/copy.ts';
import type { Tails } from '../truth/state.ts';
import { can } from '../truth/truth.ts';
import { COLLECTED_FILE } from '../turns/turn-table.ts';
import { type BackupFolder, knownPacks } from './backup-folder.ts';
import { type BackupState, writeNote } from './backup-note.ts';

// One run of a backup: a copy of every truth beside writers, and then the frames that were written meanwhile.

interface Run {
  readonly writer: Writer;
  readonly folder: BackupFolder;
  readonly into: CopySink;
  readonly progress: Progress | undefined;
}

/** Everything is in the sink when this resolves. Nothing has been made valid yet. */
export async function copyStore(run: Run): Promise<{ state: BackupState; report: BackupReport }> {
  const { writer, folder, into } = run;
  const { core } = writer;
  await core.files.catchUp();
  const erased = Math.floor((await core.files.size(ERASED_FILE)) / ERASED_RECORD_BYTES);
  const { copied, reusedBytes } = await findCopied(folder, erased);
  const job = jobOf(run, copied, erased);
  await copyAll(job, 'ahead', core.tails);
  const noted: JournalWrite[] = [];
  // The bytes of packs are not kept: they stay as they are, and are copied from the packs afterwards.
  core.onFrame = (writes) =>
    void noted.push(...writes.filter(({ path }) => packNumber(path) === undefined));
  let moment: Moment;
  try {
    await copyAll(job, 'noted', core.tails);
    moment = await writer.exclusively(async () => takeMoment(writer));
  } finally {
    core.onFrame = undefined;
  }
  for (const write of noted) {
    await into.take(write);
    noteLog(copied.logs, write);
  }
  await copyAll(job, 'after', moment.tails);
  const state = {
    ...moment,
    // The copy has its own frames. Their numbers continue from its last frame.
    seq: folder.base === undefined ? moment.frame : folder.base.checkpoint.seq + 1,
    packs: closedPacks(copied.packs.values()),
    logs: copied.logs.size,
    erased,
    collectedBytes: await core.files.size(COLLECTED_FILE),
  };
  const { touchedFiles: files, copiedBytes } = into;
  return { state, report: { files, copiedBytes, reusedBytes } };
}

/** The store at one moment. */
type Moment = Pick<BackupState, 'frame' | 'at' | 'tails' | 'openTurns'>;

function takeMoment({ core, seq, nowMs }: Writer): Moment {
  const openTurns = [...core.openTurns.keys()];
  return { frame: seq, at: new Date(nowMs).toISOString(), tails: core.tails, openTurns };
}

function jobOf(
  { writer, folder, into, progress }: Run,
  copied: Copied,
  erased: number,
): Omit<CopyJob, 'phase' | 'tails'> {
  const { core } = writer;
  const { base } = folder;
  return {
    from: core.files,
    into,
    progress,
    copied,
    trusted: base !== undefined,
    knownHeads: base?.checkpoint.body.tails.nextContext ?? 0,
    openTurns: core.openTurns,
    between: (work) => writer.exclusively(work),
    hasLog: (name) => core.hasLog(name),
    // The pack is synced and noted, so that a run after an interruption does not begin with this pack again.
    async onClosed(pack) {
      await into.sync();
      const { note } = folder;
      const copiedErased = note.copied.length === 0 ? erased : note.copiedErased;
      folder.note = { ...note, copied: [...note.copied, pack], copiedErased };
      await writeNote(folder.files, folder.note);
    },
  };
}

async function copyAll(
  job: Omit<CopyJob, 'phase' | 'tails'>,
  phase: CopyPhase,
  tails: Tails,
): Promise<void> {
  for (const { copy } of TRUTHS) if (can(copy)) await copy({ ...job, phase, tails });
  job.copied.tails = tails;
}

/** The parts that the folder already has, and their bytes. A pack that is too short there is copied again. */
async function findCopied(
  folder: BackupFolder,
  erased: number,
): Promise<{ copied: Copied; reusedBytes: number }> {
  const { files, base } = folder;
  const state = base?.state;
  const known = knownPacks(folder);
  const spans: PackSpan[] = [
    ...known.packs.map((pack) => ({ ...pack, closed: true })),
    ...(state?.tails.packs ?? []).map(({ number, length }) => ({ number, length, closed: false })),
  ];
  const packs = new Map(spans.map((pack) => [pack.number, pack]));
  let reusedBytes = 0;
  for (const { number, length } of packs.values()) {
    if ((await packSize(files, number)) < length) packs.delete(number);
    else reusedBytes += length;
  }
  for (const [name, length] of state === undefined ? [] : fileLengths(state.tails)) {
    if (packNumber(name) === undefined) reusedBytes += length;
  }
  const followed = Math.min(known.erased ?? erased, erased);
  return { copied: newCopied(state, packs, followed), reusedBytes };
}

function closedPacks(packs: Iterable<PackSpan>): CopiedPack[] {
  return [...packs]
    .filter(({ closed }) => closed)
    .map(({ number, length }) => ({ number, length }))
    .sort((a, b) => a.number - b.number);
}

function noteLog(logs: Set<string>, { kind, path }: JournalWrite): void {
  const log = logOfExtents(path);
  if (log === undefined) return;
  if (kind === 'remove') logs.delete(log);
  else logs.add(log);
}
