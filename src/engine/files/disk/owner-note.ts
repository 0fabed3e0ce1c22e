import * as fs from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isNoRoom } from './io-error.ts';

// The owner of a folder leaves this note for processes that find the folder locked: its identity, and how to reach
// it. Only the lock decides who owns the folder. The note may be of an owner that is gone. Programs read the note
// where the native modules do not load, so this file imports none.

export const OWNER_FILE = 'owner.json';

export interface OwnerNote {
  readonly pid: number;
  readonly host: string;
  readonly since: string;
  readonly durability?: 'safe' | 'unsafe';
  /** True when the owner answers for the store on a socket, or will in a moment. */
  readonly shares?: boolean;
  /** The socket, where it is not at its usual place in the folder. */
  readonly socket?: string;
}

type OwnWords = Pick<OwnerNote, 'durability' | 'shares' | 'socket'>;

/** The note of this process, as text. */
export function describeOwner(own: OwnWords = {}): string {
  const note: OwnerNote = {
    pid: process.pid,
    host: hostname(),
    since: new Date().toISOString(),
    ...own,
  };
  return JSON.stringify(note);
}

/** Only the holder of the lock may call this. */
export function writeOwnerNote(folder: string, own: OwnWords): void {
  leaveNote(folder, describeOwner(own));
}

/**
 * Like `writeOwnerNote`. On a full disk there is no note: others assume that the owner shares, and find its socket.
 */
export function leaveNote(folder: string, text: string): void {
  const path = join(folder, OWNER_FILE);
  try {
    fs.writeFileSync(path, text, { mode: 0o600 });
  } catch (error) {
    if (!isNoRoom(error)) throw error;
    fs.rmSync(path, { force: true });
  }
}

/** Undefined when there is no note, or none that makes sense: the owner may be about to write it. */
export function readOwnerNote(folder: string): OwnerNote | undefined {
  let said: Readonly<Record<keyof OwnerNote, unknown>>;
  try {
    said = JSON.parse(fs.readFileSync(join(folder, OWNER_FILE), 'utf8')) as typeof said;
  } catch {
    return undefined;
  }
  if (typeof said !== 'object' || said === null || typeof said.pid !== 'number') return undefined;
  const { durability, shares, socket } = said;
  return {
    pid: said.pid,
    host: String(said.host),
    since: String(said.since),
    ...((durability === 'safe' || durability === 'unsafe') && { durability }),
    ...(typeof shares === 'boolean' && { shares }),
    ...(typeof socket === 'string' && { socket }),
  };
}

/** Describes the owner in messages. */
export function nameOwner(note: OwnerNote | undefined): string {
  // The owner has the lock and has not written its name yet, or is about to leave.
  return note === undefined ? 'another process' : `process ${note.pid} on ${note.host}`;
}
