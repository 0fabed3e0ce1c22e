import { existsSync } from 'node:fs';
import { readFile, readdir, stat } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { messageOf } from '../../base/errors.ts';
import { parseJsonObject } from '../../base/fields.ts';
import { readOwnerNote, type OwnerNote } from '../../engine/files/disk/owner-note.ts';
import { decodeCheckpoint } from '../../format/journal-frame.ts';
import { decodeFormatFile, STORE_FORMAT } from '../../format/format-file.ts';
import { hasExpired, readTokenFile, tokenFileOf } from '../../server/access/token-file.ts';
import { placeOf } from '../../server/local/listen.ts';
import { toSize, toTime } from '../kit/text.ts';
import { fail, ok, warn, type Finding } from './check-machine.ts';
import type { QuipuShell } from '../kit/command.ts';

// Checks of a store from outside, without opening it, also while another process has it.

/** The store empties the journal by itself after this size. A larger journal means that checkpoints fail. */
const JOURNAL_BYTES_WARN: number = 256 * 2 ** 20;
const CLOCK_SLACK_MS = 60_000;
const CONNECT_MS = 2000;

type Check = (folder: string, shell: QuipuShell) => Promise<Finding | readonly Finding[]>;

/** The checks by their names, in the order of the report. */
export const FOLDER_CHECKS: readonly (readonly [name: string, check: Check])[] = [
  ['permissions', checkPermissions],
  ['format', checkFormat],
  ['journal', checkJournal],
  ['owner', checkOwner],
  ['socket', checkSocket],
  ['tokens', checkTokens],
];

async function checkFormat(folder: string, shell: QuipuShell): Promise<readonly Finding[]> {
  const format = decodeFormatFile(await readFile(join(folder, 'FORMAT')));
  if (format === undefined) {
    const advice = `copy this one file from a backup: cp <backup>/FORMAT ${folder}; the data beside it may be intact`;
    return [fail('format', 'the file FORMAT is damaged', advice)];
  }
  const found =
    format.format > STORE_FORMAT
      ? fail(
          'format',
          `${format.format}, newer than ${STORE_FORMAT}`,
          'run: npm install quipudb@latest',
        )
      : ok('format', `${format.format}, store ${format.store}`);
  if (Date.parse(format.createdAt) <= shell.now() + CLOCK_SLACK_MS) return [found];
  const clock = `behind ${format.createdAt}, when the store was made`;
  const advice = 'set the clock of this machine, for example with: timedatectl set-ntp true';
  return [found, warn('clock of store', clock, advice)];
}

/** A user who may write to the folder may change everything, and a user who may read it reads everything. */
async function checkPermissions(folder: string, { machine }: QuipuShell): Promise<Finding> {
  const { uid } = machine;
  const { mode, uid: owner } = await stat(folder);
  const shown = `mode ${(mode & 0o777).toString(8)}`;
  if (uid !== undefined && owner !== uid && uid !== 0) {
    return warn(
      'permissions',
      `${shown}, of user ${owner}`,
      `run as that user: sudo -u "#${owner}" quipu doctor --store ${folder}`,
    );
  }
  if ((mode & 0o022) !== 0) {
    return fail('permissions', `${shown}: others may write`, `run: chmod 700 ${folder}`);
  }
  if ((mode & 0o055) !== 0) {
    return warn('permissions', `${shown}: others may read`, `run: chmod 700 ${folder}`);
  }
  return ok('permissions', shown);
}

async function checkJournal(folder: string): Promise<readonly Finding[]> {
  const journal = join(folder, 'journal');
  let bytes = 0;
  const checkpoints: { generation: number; clean: boolean; writtenMs: number }[] = [];
  for (const name of await readdir(journal)) {
    const { size, mtimeMs } = await stat(join(journal, name));
    bytes += size;
    if (!name.startsWith('checkpoint-')) continue;
    const found = decodeCheckpoint(await readFile(join(journal, name)));
    if (found === undefined) continue;
    const { clean = false } = (found.body ?? {}) as { readonly clean?: boolean };
    checkpoints.push({ generation: found.generation, clean, writtenMs: mtimeMs });
  }
  const size = `${toSize(bytes)} on disk`;
  const newest = checkpoints.toSorted((a, b) => b.generation - a.generation)[0];
  return [
    bytes > JOURNAL_BYTES_WARN
      ? warn('journal', size, 'run: quipu checkpoint; if it stays large, look for disk trouble')
      : ok('journal', size),
    newest === undefined
      ? fail('checkpoint', 'neither of two can be read', 'run: quipu restore <backup> <new folder>')
      : ok(
          'checkpoint',
          `${toTime(newest.writtenMs)}, ${newest.clean ? 'closed cleanly' : 'in use, or not closed: the next opening recovers it'}`,
        ),
  ];
}

/** Finds the process that claims the store. Only the lock decides, so a note of a dead process is no problem. */
async function checkOwner(folder: string, { machine }: QuipuShell): Promise<Finding> {
  let text: string;
  try {
    text = await readFile(join(folder, 'owner.json'), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ok('owner', 'nobody');
    throw error;
  }
  const { pid, host, since } = (parseJsonObject(text) ?? {}) as Partial<OwnerNote>;
  // Without a process, the file is being written at this moment.
  if (pid === undefined || !Number.isSafeInteger(pid)) return ok('owner', 'someone, just now');
  const who = `process ${pid} on ${host} since ${since}`;
  if (host !== machine.host) return ok('owner', `${who}, another machine`);
  if (machine.isAlive(pid)) return ok('owner', `${who}, alive`);
  return ok('owner', `${who}, which is gone; the next one to open takes over`);
}

async function checkTokens(folder: string, shell: QuipuShell): Promise<Finding> {
  const path = tokenFileOf(folder);
  try {
    const records = await readTokenFile(path);
    if (records.length === 0) return ok('tokens', 'none; a server takes only local clients');
    const { mode } = await stat(path);
    const good = records.filter((record) => !hasExpired(record, shell.now())).length;
    const found = `${records.length}, ${good} of them good`;
    if ((mode & 0o077) !== 0)
      return warn('tokens', `${found}; others may read`, `run: chmod 600 ${path}`);
    return ok('tokens', found);
  } catch (error) {
    return fail(
      'tokens',
      messageOf(error),
      `the server lets nobody in: remove ${path}, then run: quipu token create <name>`,
    );
  }
}

/** The socket by which other processes of this machine reach the owner. */
async function checkSocket(folder: string): Promise<Finding> {
  const path = placeOf(folder, readOwnerNote(folder));
  if (path === undefined || !existsSync(path)) return ok('socket', 'none');
  try {
    await connectOnce(path);
    return ok('socket', 'answers');
  } catch (error) {
    const { code = messageOf(error) } = error as NodeJS.ErrnoException;
    if (code === 'ECONNREFUSED') {
      return ok('socket', 'left by a process that is gone; the next owner replaces it');
    }
    return warn(
      'socket',
      `does not answer: ${code}`,
      'the owner hangs or belongs to another user: see the line "owner", and end that process',
    );
  }
}

function connectOnce(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path);
    socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error('no answer')));
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}
