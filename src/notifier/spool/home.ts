import * as fs from 'node:fs';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { QuipuError, unsupported } from '../../base/errors.ts';
import { isLockTaken } from '../../engine/files/disk/owner-lock.ts';
import { nodeSpoolIo } from './spool.ts';

const VERSION_FILE = 'version';
const VERSION = '1\n';
const FOLDERS = ['aside', 'pending', 'running', 'error', 'damaged', 'timers', 'control'];

/** The option `--home`, `NOTIFIER_HOME`, or the user's place for data. */
export function locateHome(places: {
  readonly given: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly userHome: string;
}): string {
  const { given, env, cwd, userHome } = places;
  const named = given ?? (env['NOTIFIER_HOME'] || join(userHome, '.local', 'share', 'notifier'));
  return resolve(cwd, named);
}

/** Returns whether there is a spool. Throws UNSUPPORTED when it has another version than this program's. */
export function hasSpool(home: string): boolean {
  const file = join(home, VERSION_FILE);
  if (!existsSync(file)) return false;
  const found = readFileSync(file, 'utf8');
  if (found === VERSION) return true;
  throw unsupported(
    'spool',
    found.trim(),
    `the spool at ${home} has version ${JSON.stringify(found.trim())}; this program knows version 1`,
  );
}

/** Makes the spool where there is none. The version file is written last: a process that finds it finds everything. */
export async function makeSpool(home: string): Promise<void> {
  if (statSync(home, { throwIfNoEntry: false })?.isDirectory() === true) assertPrivate(home);
  if (!hasSpool(home)) await makeFolders(home);
  for (const folder of FOLDERS) assertPrivate(join(home, folder));
}

/** A user who can write to the spool can have commands run as the user whose daemon serves it. */
function assertPrivate(folder: string): void {
  const { uid, mode } = statSync(folder);
  const isOwn = process.getuid === undefined || uid === process.getuid();
  if (isOwn && (mode & 0o022) === 0) return;
  const whom = (mode & 0o002) === 0 ? 'its group' : 'everyone';
  const problem = isOwn ? `can be written by ${whom}` : 'belongs to another user';
  const advice = isOwn ? `run: chmod go-w ${folder}` : 'choose another NOTIFIER_HOME';
  throw new QuipuError(
    'FORBIDDEN',
    `${folder} ${problem}: others could run commands in your name; ${advice}`,
    { scope: 'spool' },
  );
}

async function makeFolders(home: string): Promise<void> {
  const { makeFolder } = await import('../../engine/files/disk/folders.ts');
  const { nodeIo } = await import('../../engine/files/disk/node-io.ts');
  const { toQuipuError } = await import('../../engine/files/disk/io-error.ts');
  try {
    for (const folder of FOLDERS) await makeFolder(nodeIo, join(home, folder));
    await nodeSpoolIo.syncFolder(home);
    const file = join(home, VERSION_FILE);
    const aside = `${file}.${process.pid}`;
    await nodeSpoolIo.remove(aside);
    await nodeSpoolIo.writeSynced(aside, VERSION);
    await nodeSpoolIo.rename(aside, file);
    await nodeSpoolIo.syncFolder(home);
  } catch (error) {
    throw toQuipuError(error, home);
  }
}

const FILES = {
  lock: 'lock.db',
  daemon: 'daemon.json',
  stop: 'control/stop',
  log: 'notifier.log',
} as const;

/** A path inside of the spool. */
export function spoolFile(home: string, file: keyof typeof FILES): string {
  return join(home, FILES[file]);
}

/** The daemon's note about itself. Only the lock tells whether there is a daemon. */
interface DaemonNote {
  readonly pid: number;
  readonly since: number;
  readonly limit: number;
  readonly idleMs: number;
}

/** Only the holder of the lock may call this. */
export function writeDaemonNote(home: string, note: Omit<DaemonNote, 'pid'>): void {
  const text = `${JSON.stringify({ pid: process.pid, ...note })}\n`;
  fs.writeFileSync(spoolFile(home, 'daemon'), text, { mode: 0o600 });
}

/** Returns whether a daemon serves the spool. */
export function isServed(home: string): boolean {
  return isLockTaken(spoolFile(home, 'lock'));
}

/** Returns undefined when the daemon has not written a note yet. */
export function readDaemonNote(home: string): DaemonNote | undefined {
  try {
    return JSON.parse(fs.readFileSync(spoolFile(home, 'daemon'), 'utf8')) as DaemonNote;
  } catch {
    return undefined;
  }
}

// A request that the daemon leaves: a file with the time of the request. The request is for the daemon that serves the
// spool, and for a daemon that was asked for before that time and is still starting. The file stays until a daemon
// begins that was asked for later. So a process that adds a task while a daemon leaves finds the request or a free
// lock, and starts another daemon.

export function requestStop(home: string, nowMs: number): void {
  fs.writeFileSync(spoolFile(home, 'stop'), `${nowMs}\n`, { mode: 0o600 });
}

export function isStopRequested(home: string): boolean {
  return fs.existsSync(spoolFile(home, 'stop'));
}

/**
 * Returns whether the request is for a daemon that was asked for at this time. A request without a time is for the
 * daemon before.
 */
export function isStopFor(home: string, askedAt: number): boolean {
  try {
    return Number.parseInt(fs.readFileSync(spoolFile(home, 'stop'), 'utf8'), 10) >= askedAt;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

export function dropStopRequest(home: string): void {
  fs.rmSync(spoolFile(home, 'stop'), { force: true });
}
