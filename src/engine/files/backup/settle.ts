import {
  type Checkpoint,
  type CheckpointBody,
  readCheckpoint,
  writeCheckpoint,
} from '../journal/checkpoint-file.ts';
import { fileLengths } from '../core/truths.ts';
import { cutToTails, replayJournal } from '../core/replay.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { type BackupNote, sameTails } from './backup-note.ts';

/** The journal place where a cleanly closed store continues: away from the frame of the next backup. */
export const JOURNAL_START = { segment: 0, position: 0 } as const;

/**
 * Brings a store that is not open to a clean end: frames are applied and made durable, and the checkpoint says that
 * the journal is not needed. A store that was closed cleanly is left as it is.
 */
export async function settle(files: StoreFiles, note: BackupNote): Promise<Checkpoint> {
  const before = await readCheckpoint(files);
  const { any, seq, tails, erased } = await replayJournal(files, before);
  const { segment, position } = before.body.journal;
  if (!any && segment === JOURNAL_START.segment && position === JOURNAL_START.position) {
    return before;
  }
  if (before.body.durability === 'unsafe') await cutToTails(files, fileLengths(tails));
  await files.syncAll();
  // The frame of a backup changes data before the tails. The tails in its checkpoint are right.
  const given = note.next !== undefined && sameTails(before.body.tails, note.next.tails);
  const scrub = before.body.scrub || erased;
  return closeCleanly(files, before, { seq, tails: given ? before.body.tails : tails, scrub });
}

/** Writes the checkpoint after `before`: clean, and with an empty journal. */
export async function closeCleanly(
  files: StoreFiles,
  before: Checkpoint,
  {
    seq,
    ...now
  }: { seq: number } & Pick<CheckpointBody, 'tails' | 'scrub'> & Partial<CheckpointBody>,
): Promise<Checkpoint> {
  const { ages } = before.body;
  const body = { ages, ...now, clean: true, durability: 'safe', journal: JOURNAL_START } as const;
  const checkpoint = { generation: before.generation + 1, seq, body };
  await writeCheckpoint(files, checkpoint);
  return checkpoint;
}
