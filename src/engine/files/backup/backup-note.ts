import { cutToTails, replayJournal } from '../core/replay.ts';
import { fileLengths } from '../core/truths.ts';
import {
  type Checkpoint,
  type CheckpointBody,
  writeCheckpoint,
} from '../journal/checkpoint-file.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';
import { crc32 } from '../../../format/bytes.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import { parseCanonicalLine } from '../../../format/canonical-line.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { syncFolder, writeNew } from '../disk/file-handles.ts';
import type { CopiedPack } from '../truth/copy.ts';
import type { Tails } from '../truth/state.ts';

/** Only a backup has this file. */
export const NOTE_FILE = 'backup.json';

// backup.json tells which store a folder holds, and how much of it: one line of canonical JSON with a checksum,
// replaced by a rename. The file is only a note. FORMAT and the checkpoint decide whether the folder can be opened.
// A note that is behind them costs time, never content.

const NOTE_BYTES_MAX = 16 * 1024 * 1024;

/** One state of the store, as the copy has it. */
export interface BackupState {
  /** The number of the last frame of the store in this state. */
  readonly frame: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** The last frame of the copy itself, if the copy was not written to since. */
  readonly seq: number;
  readonly tails: Tails;
  /** Turns that were open: their slots are empty. */
  readonly openTurns: readonly number[];
  readonly packs: readonly CopiedPack[];
  readonly logs: number;
  readonly collectedBytes: number;
  /** The blobs named by this many first records of the erasure log are erased here, too. */
  readonly erased: number;
}

export interface BackupNote {
  readonly store: string;
  /** The state that can be opened. Absent while the folder is unfinished. */
  readonly whole?: BackupState;
  /** The state that the run in progress, or the interrupted one, is about to make. */
  readonly next?: BackupState;
  /** Closed packs that a run has copied before its end. */
  readonly copied: readonly CopiedPack[];
  readonly copiedErased: number;
}

export function encodeNote(note: BackupNote): Uint8Array {
  const fields = { ...note, backup: 1 };
  return encodeUtf8(`${canonicalJson({ ...fields, check: checkOf(fields) })}\n`);
}

/** Undefined when the bytes are not a note, or not one of this version. */
export function decodeNote(bytes: Uint8Array): BackupNote | undefined {
  const fields = parseCanonicalLine(bytes);
  if (fields === undefined) return undefined;
  const { check, ...rest } = fields;
  if (check !== checkOf(rest) || rest['backup'] !== 1) return undefined;
  const { backup: _version, ...note } = rest;
  return note as unknown as BackupNote;
}

export async function readNote(files: StoreFiles): Promise<BackupNote | undefined> {
  return decodeNote(
    await files.read(NOTE_FILE, 0, Math.min(await files.size(NOTE_FILE), NOTE_BYTES_MAX)),
  );
}

/** The note is durable when this resolves, and never half written. */
export async function writeNote(files: StoreFiles, note: BackupNote): Promise<void> {
  await replaceFile(files, NOTE_FILE, encodeNote(note));
}

/** Replaces a file at the root of `files` by a rename. The bytes are durable when this resolves. */
export async function replaceFile(
  files: StoreFiles,
  name: string,
  bytes: Uint8Array,
): Promise<void> {
  const aside = files.pathOf(`${name}.new`);
  await writeNew(files.io, aside, bytes);
  await files.io.rename(aside, files.pathOf(name));
  await syncFolder(files.io, files.root);
}

export function sameTails(a: Tails, b: Tails): boolean {
  const sorted = (tails: Tails): Tails => ({
    ...tails,
    packs: tails.packs.toSorted((x, y) => x.number - y.number),
  });
  return canonicalJson(sorted(a)) === canonicalJson(sorted(b));
}

function checkOf(fields: object): string {
  return crc32(encodeUtf8(canonicalJson(fields)))
    .toString(16)
    .padStart(8, '0');
}

/** The journal place where a cleanly closed store continues: away from the frame of the next backup. */
const JOURNAL_START = { segment: 0, position: 0 } as const;

/**
 * Brings a store that is not open to a clean end: frames are applied and made durable, and the checkpoint says that
 * the journal is not needed. A store that was closed cleanly is left as it is. `before` is durable.
 */
export async function settle(
  files: StoreFiles,
  note: BackupNote,
  before: Checkpoint,
): Promise<Checkpoint> {
  const { any, seq, tails, erased } = await replayJournal(files, before);
  const { segment, position } = before.body.journal;
  if (!any && segment === JOURNAL_START.segment && position === JOURNAL_START.position) {
    return before;
  }
  if (before.body.durability === 'unsafe') await cutToTails(files, fileLengths(tails));
  await files.syncAll();
  // The frame of a backup changes data before the tails. The tails in its checkpoint are right.
  const given = note.next !== undefined && sameTails(before.body.tails, note.next.tails);
  const { generation, body } = before;
  const scrub = body.scrub || erased;
  const now = { tails: given ? body.tails : tails, ages: body.ages, scrub };
  return closeCleanly(files, generation + 1, seq, now);
}

/** Writes a checkpoint that is clean, and says that the journal is empty. */
export async function closeCleanly(
  files: StoreFiles,
  generation: number,
  seq: number,
  now: Pick<CheckpointBody, 'tails' | 'ages' | 'scrub'>,
): Promise<Checkpoint> {
  const body = { ...now, clean: true, durability: 'safe', journal: JOURNAL_START } as const;
  const checkpoint = { generation, seq, body };
  await writeCheckpoint(files, checkpoint);
  return checkpoint;
}
