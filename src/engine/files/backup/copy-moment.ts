import type { JournalWrite } from '../../../format/journal-frame.ts';
import { HEADS_FILE, openTurnFile } from '../names.ts';
import { openFileBytes } from '../open-turns/open-turn-file.ts';
import type { Tails } from '../commit/tails.ts';
import type { Writer } from '../commit/writer.ts';
import { readHeads } from '../heads/copy-heads.ts';
import { type CopiedLog, type CopiedLogs, copyLog, removeLog } from '../logs/copy-logs.ts';
import type { SeenChanges } from './watch-changes.ts';

/** The store at one moment: the ends of its files, and what changed in place shortly before. */
export interface Moment {
  readonly frame: number;
  readonly at: string;
  readonly tails: Tails;
  readonly openTurns: readonly number[];
  readonly writes: readonly JournalWrite[];
}

/** The parts that were copied before, while commits went on. */
export interface Compared {
  readonly nextContext: number;
  readonly logs: CopiedLogs;
  /** True when the copy has the file of an open turn with exactly this many bytes. */
  hasOpenTurn(turn: number, fileBytes: number): Promise<boolean>;
}

/**
 * Takes the moment that the copy will show. Commits wait meanwhile, so this reads only what cannot be read later:
 * heads and logs that changed since they were compared, and the texts of open turns. All other data below the tails
 * stays as it is.
 */
export async function takeMoment(
  writer: Writer,
  seen: SeenChanges,
  compared: Compared,
): Promise<Moment> {
  return writer.exclusively(async () => {
    const { core } = writer;
    await core.files.catchUp();
    const { tails } = core;
    const writes: JournalWrite[] = [];
    const take = async (write: JournalWrite): Promise<void> => void writes.push(write);
    const changed = new Set(seen.contexts);
    for (const [id, turn] of core.openTurns) {
      const { row } = turn;
      const fileBytes = openFileBytes(turn);
      if (seen.grown.has(id)) changed.add(Number(row.context));
      // A turn only grows, and its id is never reused: the same length means the same text.
      if (await compared.hasOpenTurn(id, fileBytes)) continue;
      const path = openTurnFile(id);
      const data = await core.files.read(path, 0, fileBytes);
      // The file is not written by a rename: every file in that folder counts as an open turn.
      writes.push({ kind: 'remove', path }, { kind: 'bytes', path, offset: 0, data });
    }
    for (const id of changed) {
      if (id < compared.nextContext) writes.push(await readSlots(writer, id, id + 1));
    }
    if (compared.nextContext < tails.nextContext) {
      writes.push(await readSlots(writer, compared.nextContext, tails.nextContext));
    }
    for (const name of logsToTake(seen, compared.logs)) {
      compared.logs.set(name, await takeLog(writer, { name, seen, compared, take }));
    }
    const openTurns = [...core.openTurns.keys()];
    const at = new Date(writer.nowMs).toISOString();
    return { frame: writer.seq, at, tails, openTurns, writes };
  });
}

function logsToTake(seen: SeenChanges, copied: CopiedLogs): Set<string> {
  const unsure = [...copied].filter(([, { sure }]) => !sure).map(([name]) => name);
  return new Set([...seen.logs, ...unsure]);
}

interface LogToTake {
  readonly name: string;
  readonly seen: SeenChanges;
  readonly compared: Compared;
  readonly take: (write: JournalWrite) => Promise<void>;
}

async function takeLog(
  writer: Writer,
  { name, seen, compared, take }: LogToTake,
): Promise<CopiedLog> {
  const { core } = writer;
  // Throws when the log and its extents do not agree: damage must not replace a good copy.
  const state = await core.getLogState(name);
  if (state === undefined) {
    await removeLog(take, name);
    return { extents: 0, sure: true };
  }
  const known = seen.removedLogs.has(name) ? 0 : (compared.logs.get(name)?.extents ?? 0);
  const { extents } = await copyLog({ from: core.files, take }, name, known);
  return { extents, sure: true };
}

async function readSlots(writer: Writer, first: number, next: number): Promise<JournalWrite> {
  const { offset, data } = await readHeads(writer.core.files, first, next);
  return { kind: 'bytes', path: HEADS_FILE, offset, data };
}
