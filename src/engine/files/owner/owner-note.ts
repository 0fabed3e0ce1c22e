import * as fs from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isNoRoom } from '../disk/io-error.ts';

// What the owner of a folder leaves for those who find it locked: who it is, and how to reach it. Only the
// lock decides who owns it; a note may be of one who is gone.

export const OWNER_FILE = 'owner.json';

export interface OwnerNote {
  readonly pid: number;
  readonly host: string;
  readonly since: string;
  readonly durability?: 'safe' | 'unsafe';
  /** It answers, or will in a moment, for the store on a socket. */
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

/** Only for who holds the lock. */
export function writeOwnerNote(folder: string, own: OwnWords): void {
  leaveNote(folder, describeOwner(own));
}

/** As `writeOwnerNote`. On a full disk there is none: others take the owner for one who shares, and find its socket. */
export function leaveNote(folder: string, text: string): void {
  const path = join(folder, OWNER_FILE);
  try {
    fs.writeFileSync(path, text, { mode: 0o600 });
  } catch (error) {
    if (!isNoRoom(error)) throw error;
    fs.rmSync(path, { force: true });
  }
}

/** Undefined when there is none, or none that makes sense: the owner may be about to write it. */
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

/** For messages. */
export function nameOwner(note: OwnerNote | undefined): string {
  // The owner has the lock and has not written its name yet, or is about to leave.
  return note === undefined ? 'another process' : `process ${note.pid} on ${note.host}`;
}
