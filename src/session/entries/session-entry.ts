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
