import { randomBytes } from 'node:crypto';

/** The version that is written. Files of older versions are read as if they had this one. */
export const SESSION_VERSION = 3;

/** The first line of a session. */
export interface SessionHeader {
  readonly type: 'session';
  readonly version?: number;
  readonly id: string;
  /** The start time of the session, as ISO 8601. */
  readonly timestamp: string;
  /** The folder that the session is about. */
  readonly cwd: string;
  /** The session that this one was forked from. */
  readonly parentSession?: string;
  readonly [field: string]: unknown;
}

/** Every other line: a node of a tree. The entry written last is the leaf that goes on. */
export interface SessionEntry {
  readonly type: string;
  readonly id: string;
  /** Null for the first entry. */
  readonly parentId: string | null;
  readonly timestamp: string;
  readonly [field: string]: unknown;
}

/** The fields that a caller gives; the session fills in the rest. */
export interface NewEntry {
  readonly type: string;
  readonly id?: string;
  readonly parentId?: string | null;
  readonly timestamp?: string;
  readonly [field: string]: unknown;
}

/** JSON on one line, also for readers that take U+2028 and U+2029 for line ends. */
export function toLine(record: unknown): string {
  return JSON.stringify(record).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}

export function isHeader(record: unknown): record is SessionHeader {
  if (typeof record !== 'object' || record === null) return false;
  const { type, id } = record as Record<string, unknown>;
  return type === 'session' && typeof id === 'string';
}

/** Makes a UUID of version 7: those made later sort later. */
export function newSessionId(nowMs: number): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(nowMs, 0, 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

type Fields = Record<string, unknown>;

/** Lines of version 1 have no ids: their place in the file, with the header at 0, is their name. */
function idOfLine(index: number): string {
  return `line-${index}`;
}

interface LineOfFile {
  /** The version in the header; absent means 1. */
  readonly version: number | undefined;
  /** The place of the line, counted from the header, which is 0. Only version 1 needs it. */
  readonly index: number;
}

/**
 * Reads a line of any version as an entry of the newest. Files are never rewritten for it. Lines of a newer version,
 * and of unknown types, are left as they are.
 */
export function migrateEntry(record: Fields, { version = 1, index }: LineOfFile): SessionEntry {
  let fields = record;
  if (version < 2) fields = nameByPlace(fields, index);
  if (version < SESSION_VERSION) fields = renameHookMessage(fields);
  return fields as unknown as SessionEntry;
}

/** Version 2 made the list a tree. A compaction points at the first entry it keeps by that entry's id. */
function nameByPlace(fields: Fields, index: number): Fields {
  const { firstKeptEntryIndex, ...rest } = fields;
  const parentId = index <= 1 ? null : idOfLine(index - 1);
  const kept =
    typeof firstKeptEntryIndex === 'number' && firstKeptEntryIndex > 0
      ? { firstKeptEntryId: idOfLine(firstKeptEntryIndex) }
      : {};
  return { id: idOfLine(index), parentId, ...rest, ...kept };
}

/** Version 3 renames the role of messages of extensions from `hookMessage` to `custom`. */
function renameHookMessage(fields: Fields): Fields {
  const { message } = fields;
  if (fields['type'] !== 'message' || typeof message !== 'object' || message === null) {
    return fields;
  }
  if ((message as Fields)['role'] !== 'hookMessage') return fields;
  return { ...fields, message: { ...message, role: 'custom' } };
}
