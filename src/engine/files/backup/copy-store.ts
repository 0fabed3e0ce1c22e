import type { JournalWrite } from '../../../format/journal-frame.ts';
import type { Progress } from '../../progress.ts';
import type { BackupReport } from '../../upkeep.ts';
import type { Writer } from '../commit/writer.ts';
import { TRUTHS, fileLengths } from '../core/truths.ts';
import { logOfExtents } from '../logs/line-log.ts';
import { packNumber, packSize } from '../packs/pack-file.ts';
import {
  type Copied,
  type CopiedPack,
  type CopyPhase,
  type CopyRun,
  type CopySink,
  newCopied,
  type PackSpan,
} from '../truth/copy.ts';
import type { Tails } from '../truth/state.ts';
import { can } from '../truth/truth.ts';
import { COLLECTED_FILE } from '../turns/turn-table.ts';
import { type BackupFolder, notePack } from './backup-folder.ts';
import type { CopiedState } from './backup-note.ts';

// One run of a backup: a copy of every truth beside writers, and then the frames that were written meanwhile.

interface Backup {
  readonly writer: Writer;
  readonly folder: BackupFolder;
  readonly into: CopySink;
  readonly progress: Progress | undefined;
}

/** Everything is in the sink when this resolves. Nothing has been made valid yet. */
export async function copyStore(
  backup: Backup,
): Promise<{ state: CopiedState; report: BackupReport }> {
  const { writer, folder, into } = backup;
  const { core } = writer;
  await core.files.catchUp();
  const { copied, reusedBytes } = await findCopied(folder);
  const run = runOf(backup, copied);
  await copyAll(run, 'ahead', core.tails);
  const noted: JournalWrite[] = [];
  // The bytes of packs are not kept: they stay as they are, and are copied from the packs afterwards.
  core.onFrame = (writes) =>
    void noted.push(...writes.filter(({ path }) => packNumber(path) === undefined));
  let moment: Moment;
  try {
    await copyAll(run, 'noted', core.tails);
    moment = await writer.exclusively(async () => takeMoment(writer));
  } finally {
    core.onFrame = undefined;
  }
  for (const write of noted) {
    await into.take(write);
    noteLog(copied.logs, write);
  }
  await copyAll(run, 'after', moment.tails);
  const state = {
    ...moment,
    packs: closedPacks(copied.packs.values()),
    logs: copied.logs.size,
    erased: folder.erased,
    collectedBytes: await core.files.size(COLLECTED_FILE),
  };
  const { touchedFiles: files, copiedBytes } = into;
  return { state, report: { files, copiedBytes, reusedBytes } };
}

/** The store at one moment. */
type Moment = Pick<CopiedState, 'frame' | 'at' | 'tails' | 'openTurns'>;

function takeMoment({ core, seq, nowMs }: Writer): Moment {
  const openTurns = [...core.openTurns.keys()];
  return { frame: seq, at: new Date(nowMs).toISOString(), tails: core.tails, openTurns };
}

function runOf({ writer, folder, into, progress }: Backup, copied: Copied): CopyRun {
  const { core } = writer;
  return {
    from: core.files,
    into,
    progress,
    copied,
    trusted: folder.base !== undefined,
    openTurns: core.openTurns,
    between: (work) => writer.exclusively(work),
    hasLog: (name) => core.hasLog(name),
    async onClosed(pack) {
      await into.sync();
      await notePack(folder, pack);
    },
  };
}

/** Copies every truth up to `tails`. */
export async function copyAll(run: CopyRun, phase: CopyPhase, tails: Tails): Promise<void> {
  for (const { copy } of TRUTHS) if (can(copy)) await copy[phase]?.({ ...run, tails });
  run.copied.tails = tails;
}

/** The parts that the folder already has, and their bytes. A pack that is too short there is copied again. */
async function findCopied({
  files,
  base,
  packs: closed,
  followed,
}: BackupFolder): Promise<{ copied: Copied; reusedBytes: number }> {
  const state = base?.state;
  const packs = new Map<number, PackSpan>();
  for (const { number, length } of state?.tails.packs ?? []) {
    packs.set(number, { number, length, closed: false });
  }
  for (const pack of closed.values()) packs.set(pack.number, { ...pack, closed: true });
  let reusedBytes = 0;
  for (const { number, length } of packs.values()) {
    if ((await packSize(files, number)) < length) packs.delete(number);
    else reusedBytes += length;
  }
  for (const [name, length] of state === undefined ? [] : fileLengths(state.tails)) {
    if (packNumber(name) === undefined) reusedBytes += length;
  }
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
