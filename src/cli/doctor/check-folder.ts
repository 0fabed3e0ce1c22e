import { messageOf } from '../../base/errors.ts';
import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeCheckpoint } from '../../format/journal-frame.ts';
import { decodeFormatFile, STORE_FORMAT } from '../../format/format-file.ts';
import { readTokenFile, tokenFileOf } from '../../server/access/token-file.ts';
import { hasExpired } from '../../server/access/token.ts';
import { toSize, toTime } from '../kit/text.ts';
import { fail, ok, warn, type Finding } from './finding.ts';
import type { Machine } from '../kit/process.ts';

// Checks of a store from outside, without opening it, also while another process has it.

/** The store empties the journal by itself after this size. A larger journal means that checkpoints fail. */
const JOURNAL_BYTES_WARN: number = 256 * 2 ** 20;
const CLOCK_SLACK_MS = 60_000;

export async function checkFormat(folder: string, nowMs: number): Promise<readonly Finding[]> {
  const format = decodeFormatFile(await readFile(join(folder, 'FORMAT')));
  if (format === undefined) {
    const advice = `copy this one file from a backup: cp <backup>/FORMAT ${folder}; the data beside it may be intact`;
    return [fail('format', 'the file FORMAT is damaged', advice)];
  }
  const findings: Finding[] = [
    format.format > STORE_FORMAT
      ? fail(
          'format',
          `${format.format}, newer than ${STORE_FORMAT}`,
          'run: npm install quipudb@latest',
        )
      : ok('format', `${format.format}, store ${format.store}`),
  ];
  if (Date.parse(format.createdAt) > nowMs + CLOCK_SLACK_MS) {
    const found = `behind ${format.createdAt}, when the store was made`;
    findings.push(
      warn(
        'clock of store',
        found,
        'set the clock of this machine, for example with: timedatectl set-ntp true',
      ),
    );
  }
  return findings;
}

/** A user who may write to the folder may change everything, and a user who may read it reads everything. */
export async function checkPermissions(folder: string, { uid }: Machine): Promise<Finding> {
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

export async function checkJournal(folder: string): Promise<readonly Finding[]> {
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
export async function checkOwner(folder: string, machine: Machine): Promise<Finding> {
  let text: string;
  try {
    text = await readFile(join(folder, 'owner.json'), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ok('owner', 'nobody');
    throw error;
  }
  const { pid, host, since } = parseOwner(text);
  if (pid === undefined) return ok('owner', 'someone, just now');
  const who = `process ${pid} on ${host} since ${since}`;
  if (host !== machine.host) return ok('owner', `${who}, another machine`);
  if (machine.isAlive(pid)) return ok('owner', `${who}, alive`);
  return ok('owner', `${who}, which is gone; the next one to open takes over`);
}

export async function checkTokens(folder: string, nowMs: number): Promise<Finding> {
  const path = tokenFileOf(folder);
  try {
    const records = await readTokenFile(path);
    if (records.length === 0) return ok('tokens', 'none; a server takes only local clients');
    const { mode } = await stat(path);
    const good = records.filter((record) => !hasExpired(record, nowMs)).length;
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

interface Owner {
  readonly pid?: number;
  readonly host?: string;
  readonly since?: string;
}

function parseOwner(text: string): Owner {
  try {
    const said = JSON.parse(text) as Owner;
    return Number.isSafeInteger(said.pid) ? said : {};
  } catch {
    // SyntaxError: the file is being written at this moment.
    return {};
  }
}
