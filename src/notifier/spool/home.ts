import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { QuipuError, unsupported } from '../../base/errors.ts';
import { nodeSpoolIo } from './spool-io.ts';

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

/** A path inside of the spool. */
export const spoolFile: {
  lock(home: string): string;
  daemon(home: string): string;
  stop(home: string): string;
  log(home: string): string;
} = {
  lock: (home) => join(home, 'lock.db'),
  daemon: (home) => join(home, 'daemon.json'),
  stop: (home) => join(home, 'control', 'stop'),
  log: (home) => join(home, 'notifier.log'),
};
