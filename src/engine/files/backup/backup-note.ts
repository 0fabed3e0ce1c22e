import { canonicalJson } from '../../../base/canonical-json.ts';
import { crc32 } from '../../../base/crc.ts';
import { encodeUtf8 } from '../../../base/utf8.ts';
import { parseCanonicalLine } from '../../../format/canonical-line.ts';
import { NOTE_FILE } from '../names.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { syncFile, syncFolder } from '../disk/sync-failure.ts';
import type { Tails } from '../commit/tails.ts';
import { writeFully } from '../disk/write-fully.ts';

// backup.json: what a folder holds of which store. One line of canonical JSON with a checksum, replaced
// by a rename. It is only a note: whether the folder can be opened is for FORMAT and the checkpoint to
// say, and a note that is behind them costs time, never content.

const NOTE_BYTES_MAX = 16 * 1024 * 1024;

/** A pack that no longer grows, whole and durable in the copy. */
export interface CopiedPack {
  readonly number: number;
  readonly length: number;
}

/** One state of the store, as the copy has it. */
export interface BackupState {
  /** The last frame of the store that is in it. */
  readonly frame: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** The frame that the copy itself ends with, if nobody has written to it since. */
  readonly seq: number;
  readonly tails: Tails;
  /** Turns that were open: their slots are empty. */
  readonly openTurns: readonly number[];
  readonly packs: readonly CopiedPack[];
  readonly logs: number;
  readonly collectedBytes: number;
  /** What the first so many records of the erasure log name is erased here, too. */
  readonly erased: number;
}

export interface BackupNote {
  readonly store: string;
  /** The state that can be opened; absent while the folder is unfinished. */
  readonly whole?: BackupState;
  /** What the run that is under way, or was interrupted, is about to make of it. */
  readonly next?: BackupState;
  /** Closed packs that a run has brought over before it got to its end. */
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

/** Durable when it resolves, and never half there. */
export async function writeNote(files: StoreFiles, note: BackupNote): Promise<void> {
  await replaceFile(files, NOTE_FILE, encodeNote(note));
}

/** A file at the root of `files` becomes these bytes, by a rename; durable when it resolves. */
export async function replaceFile(
  files: StoreFiles,
  name: string,
  bytes: Uint8Array,
): Promise<void> {
  const aside = files.pathOf(`${name}.new`);
  const file = await files.io.open(aside, 'create');
  try {
    await file.truncate(0);
    await writeFully(file, bytes, 0);
    await syncFile(file);
  } finally {
    await file.close();
  }
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
