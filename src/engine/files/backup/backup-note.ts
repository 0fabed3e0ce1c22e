import { isFields } from '../../../base/fields.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import { decodeChecked, encodeChecked } from '../../../format/canonical-line.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { isPackSpan } from '../journal/checkpoint-file.ts';
import type { CopiedPack, Earlier } from '../truth/copy.ts';
import { isCount, isTails } from '../truth/state.ts';

// What is written down of backups: in a backup, of which store it is; in a store, what it has made.

/** Only a backup has this file. */
export const NOTE_FILE = 'backup.json';

/** Marks a folder in which a restore did not finish. */
export const UNFINISHED_FILE = 'restore.unfinished';

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

function isState(value: unknown): value is BackupState {
  if (!isFields(value) || typeof value['at'] !== 'string' || !isTails(value['tails'])) return false;
  const { id = '', frame, seq, openTurns, packs, logs, collectedBytes, erased } = value;
  if (typeof id !== 'string') return false;
  if (!Array.isArray(openTurns) || !openTurns.every(isCount)) return false;
  if (!Array.isArray(packs) || !packs.every(isPackSpan)) return false;
  return [frame, seq, logs, collectedBytes, erased].every(isCount);
}

export async function readNote(files: StoreFiles): Promise<BackupNote | undefined> {
  return decodeNote(await files.read(NOTE_FILE, 0, NOTE_BYTES_MAX));
}

// journal/backups: what the store has made of the folders that it was backed up to. The file is in every backup, and a
// restore brings it back. So a store that was restored from an older backup does not know the states of a newer one,
// whatever the two differ in. The file holds nothing else: if it is lost, the next backup goes to another folder.

export const KNOWN_FILE = 'journal/backups';
export const KNOWN_BYTES_MAX: number = 64 * 1024;
/** The folders that a store remembers. */
const FOLDERS_MAX = 256;

/** The last states of each folder, by the id of the folder. The last one may be unfinished. */
type KnownBackups = Readonly<Record<string, readonly string[]>>;

/** Empty when there is no such file, or none that can be read. */
export async function readKnown(files: StoreFiles): Promise<KnownBackups> {
  const { folders } = decodeChecked(await files.read(KNOWN_FILE, 0, KNOWN_BYTES_MAX)) ?? {};
  if (!isFields(folders) || !Object.values(folders).every(areIds)) return {};
  return folders as KnownBackups;
}

function areIds(value: unknown): boolean {
  return Array.isArray(value) && value.every((id) => typeof id === 'string');
}

/** The file with the states of one folder. Of many folders, those that were first are forgotten. */
export function encodeKnown(known: KnownBackups, folder: string, states: string[]): Uint8Array {
  const others = Object.entries(known).filter(([other]) => other !== folder);
  const folders = Object.fromEntries([...others.slice(1 - FOLDERS_MAX), [folder, states]]);
  return encodeChecked({ folders });
}

// `last-backup.json` says when the last backup of this store came to its end: `{"at":<milliseconds since 1970>}`. It is a
// note for people. It is not in backups, and nothing depends on it. So nothing is synced: after a power failure, the
// note may be missing, or the one before.

const LAST_FILE = 'last-backup.json';
const LAST_BYTES_MAX = 256;

/** A backup that was made is not called a failure because the store has no room for a note. The note before stays. */
export async function noteBackup(files: StoreFiles, at: number): Promise<void> {
  const bytes = encodeUtf8(`${JSON.stringify({ at })}\n`);
  await files.replace(LAST_FILE, [bytes], { sync: false }).catch(() => undefined);
}

/** Undefined when there is no note, or none that can be read. */
export async function readLastBackup(files: StoreFiles): Promise<{ at: number } | undefined> {
  const bytes = await files.read(LAST_FILE, 0, LAST_BYTES_MAX).catch(() => new Uint8Array());
  const [, digits] = /^\{"at":(\d{1,15})\}\n$/.exec(Buffer.from(bytes).toString('latin1')) ?? [];
  return digits === undefined ? undefined : { at: Number(digits) };
}
