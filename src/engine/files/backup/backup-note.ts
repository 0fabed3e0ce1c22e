import { isFields } from '../../../base/fields.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';
import { crc32 } from '../../../format/bytes.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import { parseCanonicalLine } from '../../../format/canonical-line.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { CopiedPack } from '../truth/copy.ts';
import { isPackSpan } from '../journal/checkpoint-file.ts';
import { isCount, isTails, type Tails } from '../truth/state.ts';

/** Only a backup has this file. */
export const NOTE_FILE = 'backup.json';

// backup.json tells which store a folder holds, and how much of it: one line of canonical JSON with a checksum,
// replaced by a rename. The file is only a note. FORMAT and the checkpoint decide whether the folder can be opened.
// A note that is behind them costs time, never content.

const NOTE_BYTES_MAX = 16 * 1024 * 1024;

/** One state of the store, as it was copied. */
export interface CopiedState {
  /** Names this state. Missing in notes of older versions, and when the store had no room to remember it. */
  readonly id?: string;
  /** The number of the last frame of the store in this state. */
  readonly frame: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly tails: Tails;
  /** Turns that were open: their slots are empty. */
  readonly openTurns: readonly number[];
  readonly packs: readonly CopiedPack[];
  readonly logs: number;
  readonly collectedBytes: number;
  /** The blobs named by this many first records of the erasure log are erased here, too. */
  readonly erased: number;
}

/** One state of the store, as the copy has it. */
export interface BackupState extends CopiedState {
  /** The last frame of the copy itself, if the copy was not written to since. */
  readonly seq: number;
}

export interface BackupNote {
  readonly store: string;
  /** Names this folder. Missing in notes of older versions. */
  readonly folder?: string;
  /** The state that can be opened. Absent while the folder is unfinished. */
  readonly whole?: BackupState;
  /** The state that the run in progress, or the interrupted one, is about to make. */
  readonly next?: BackupState;
  /** Closed packs that a run has copied before its end. */
  readonly copied: readonly CopiedPack[];
  readonly copiedErased: number;
}

export function encodeNote(note: BackupNote): Uint8Array {
  return encodeChecked({ ...note, backup: 1 });
}

/** Undefined when the bytes are not a note, or not one of this version. */
export function decodeNote(bytes: Uint8Array): BackupNote | undefined {
  const { backup, ...note } = decodeChecked(bytes) ?? {};
  return backup === 1 && isNote(note) ? note : undefined;
}

/** A line of canonical JSON with its own checksum. */
export function encodeChecked(fields: object): Uint8Array {
  return encodeUtf8(`${canonicalJson({ ...fields, check: checkOf(fields) })}\n`);
}

/** The fields without the checksum. Undefined when it is not right. */
export function decodeChecked(bytes: Uint8Array): Record<string, unknown> | undefined {
  const { check, ...fields } = parseCanonicalLine(bytes) ?? {};
  return check === checkOf(fields) ? fields : undefined;
}

/** Whether the fields are those of a note. A right checksum does not say who wrote it. */
function isNote(fields: Readonly<Record<string, unknown>>): fields is typeof fields & BackupNote {
  const { store, folder = '', whole, next, copied, copiedErased } = fields;
  if (typeof store !== 'string' || typeof folder !== 'string') return false;
  if (!isCount(copiedErased)) return false;
  if (!Array.isArray(copied) || !copied.every(isPackSpan)) return false;
  return [whole, next].every((state) => state === undefined || isState(state));
}

function isState(value: unknown): value is BackupState {
  if (!isFields(value) || typeof value['at'] !== 'string' || !isTails(value['tails'])) return false;
  const { id = '', frame, seq, openTurns, packs, logs, collectedBytes, erased } = value;
  if (typeof id !== 'string') return false;
  if (!Array.isArray(openTurns) || !openTurns.every(isCount)) return false;
  if (!Array.isArray(packs) || !packs.every(isPackSpan)) return false;
  return [frame, seq, logs, collectedBytes, erased].every(isCount);
}

export async function readNote(files: StoreFiles): Promise<BackupNote | undefined> {
  return decodeNote(
    await files.read(NOTE_FILE, 0, Math.min(await files.size(NOTE_FILE), NOTE_BYTES_MAX)),
  );
}

/** The note is durable when this resolves, and never half written. */
export async function writeNote(files: StoreFiles, note: BackupNote): Promise<void> {
  await files.replace(NOTE_FILE, [encodeNote(note)]);
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
