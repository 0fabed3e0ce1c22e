import { isFields } from '../../../base/fields.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';
import { crc32 } from '../../../format/bytes.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import { parseCanonicalLine } from '../../../format/canonical-line.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { CopiedPack, Earlier } from '../truth/copy.ts';
import { isPackSpan } from '../journal/checkpoint-file.ts';
import { isCount, isTails } from '../truth/state.ts';

/** Only a backup has this file. */
export const NOTE_FILE = 'backup.json';

// backup.json tells which store a folder holds, and how much of it: one line of canonical JSON with a checksum. It
// changes in the frame that changes the rest of a folder in use. FORMAT decides whether the folder can be opened.
// Older versions replaced the note by itself, so theirs may be behind. Such a note costs time, never content.

const NOTE_BYTES_MAX = 16 * 1024 * 1024;

/** One state of the store, as it was copied. */
export interface BackupState extends Earlier {
  /** Names this state. Missing in notes of older versions, and when the store had no room to remember it. */
  readonly id?: string;
  /** The number of the last frame of the store in this state. */
  readonly frame: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly packs: readonly CopiedPack[];
  readonly logs: number;
  readonly collectedBytes: number;
  /** The last frame of the copy itself, if the copy was not written to since. */
  readonly seq: number;
}

export interface BackupNote {
  readonly store: string;
  /** Names this folder. Missing in notes of older versions. */
  readonly folder?: string;
  /** The state that can be opened. Absent while the folder is unfinished. */
  readonly whole?: BackupState;
  /** True when every closed pack in the folder is whole and durable. Older versions wrote them in place. */
  readonly wholePacks?: boolean;
}

/** Older versions expect the packs that a run has copied before its end. */
const FOR_OLDER_VERSIONS = { backup: 1, copied: [], copiedErased: 0 } as const;

export function encodeNote(note: BackupNote): Uint8Array {
  return encodeChecked({ ...note, ...FOR_OLDER_VERSIONS });
}

/** Undefined when the bytes are not a note, or not one of this version. A right checksum does not say who wrote it. */
export function decodeNote(bytes: Uint8Array): BackupNote | undefined {
  const { backup, store, folder = '', whole, wholePacks = false } = decodeChecked(bytes) ?? {};
  const areTexts = typeof store === 'string' && typeof folder === 'string';
  if (backup !== 1 || !areTexts || typeof wholePacks !== 'boolean') return undefined;
  if (whole !== undefined && !isState(whole)) return undefined;
  return { store, wholePacks, ...(folder && { folder }), ...(whole && { whole }) };
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

function isState(value: unknown): value is BackupState {
  if (!isFields(value) || typeof value['at'] !== 'string' || !isTails(value['tails'])) return false;
  const { id = '', frame, seq, openTurns, packs, logs, collectedBytes, erased } = value;
  if (typeof id !== 'string') return false;
  if (!Array.isArray(openTurns) || !openTurns.every(isCount)) return false;
  if (!Array.isArray(packs) || !packs.every(isPackSpan)) return false;
  return [frame, seq, logs, collectedBytes, erased].every(isCount);
}

export async function readNote(files: StoreFiles): Promise<BackupNote | undefined> {
  const length = Math.min(await files.size(NOTE_FILE), NOTE_BYTES_MAX);
  return decodeNote(await files.read(NOTE_FILE, 0, length));
}

function checkOf(fields: object): string {
  return crc32(encodeUtf8(canonicalJson(fields)))
    .toString(16)
    .padStart(8, '0');
}
