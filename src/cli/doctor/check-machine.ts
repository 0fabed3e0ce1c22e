import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open, rm, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isQuipuError, messageOf } from '../../base/errors.ts';
import type { QuipuShell } from '../kit/command.ts';
import type { Machine } from '../kit/process.ts';
import { toSize, toTable } from '../kit/text.ts';

export type Grade = 'ok' | 'warn' | 'fail';

/** The result of one check. */
export interface Finding {
  /** A word or two, the same each time. */
  readonly check: string;
  readonly grade: Grade;
  /** The observation. */
  readonly found: string;
  /** The next step for the user, when the grade is not ok. */
  readonly advice?: string;
}

export function ok(check: string, found: string): Finding {
  return { check, grade: 'ok', found };
}

export function warn(check: string, found: string, advice: string): Finding {
  return { check, grade: 'warn', found, advice };
}

export function fail(check: string, found: string, advice: string): Finding {
  return { check, grade: 'fail', found, advice };
}

export function toFindingsTable(findings: readonly Finding[]): string {
  const rows = findings.flatMap(({ check, grade, found, advice }) => [
    [grade, check, found],
    ...(advice === undefined ? [] : [['', '', `> ${advice}`]]),
  ]);
  return toTable(['', 'CHECK', 'FOUND'], rows);
}

const NODE_MIN: readonly [number, number] = [20, 19];
/** Packs, the index, the journal and a connection each take one open file. */
const OPEN_FILES_MIN = 1024;
/** BLAKE3 of no bytes at all. */
const BLAKE3_OF_NOTHING = 'af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262';
/** No clock that is set shows a time before this program was written. */
const CLOCK_MIN_MS: number = Date.UTC(2026, 0);

/** Checks the things that must work before any module of a store can be loaded. */
export async function checkMachine(shell: QuipuShell): Promise<readonly Finding[]> {
  const { machine } = shell;
  return [
    checkNode(machine),
    ...(await checkNative()),
    checkOpenFiles(machine),
    checkClock(shell.now()),
  ];
}

function checkNode({ nodeVersion }: Machine): Finding {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  const [needMajor, needMinor] = NODE_MIN;
  if (major > needMajor || (major === needMajor && minor >= needMinor)) {
    return ok('node', `version ${nodeVersion}`);
  }
  return fail(
    'node',
    `version ${nodeVersion}, older than ${NODE_MIN.join('.')}`,
    `install Node ${NODE_MIN.join('.')} or newer`,
  );
}

function checkOpenFiles({ openFiles }: Machine): Finding {
  if (openFiles === undefined) return ok('open files', 'this system does not tell its limit');
  const found = `at most ${openFiles === Infinity ? 'unlimited' : openFiles} at once`;
  if (openFiles >= OPEN_FILES_MIN) return ok('open files', found);
  return warn('open files', found, 'before you serve many clients, run: ulimit -n 4096');
}

function checkClock(nowMs: number): Finding {
  const found = new Date(nowMs).toISOString();
  if (nowMs >= CLOCK_MIN_MS) return ok('clock', found);
  return warn(
    'clock',
    `${found}, which is past`,
    'set the clock, for example with: timedatectl set-ntp true; turns carry its time',
  );
}

/** Loads the modules compiled for this machine, and uses each of them once. */
async function checkNative(): Promise<readonly Finding[]> {
  return [
    await checkBlake3(),
    await tryNative('zstd', async () => {
      const { compress, decompress } = await import('../../base/compress.ts');
      const bytes = Buffer.from('knots in a cord '.repeat(8));
      return Buffer.compare(decompress(compress(bytes), bytes.length), bytes) === 0;
    }),
    await tryNative('sqlite', async () => {
      const { Database, MEMORY } = await import('../../base/sqlite.ts');
      const db = new Database(MEMORY);
      const answer = db.pragma('integrity_check');
      db.close();
      return answer === 'ok';
    }),
  ];
}

async function checkBlake3(): Promise<Finding> {
  const { hashBytes, nativeBlake3 } = await import('../../base/hash.ts');
  if (nativeBlake3() === undefined) {
    const advice = 'run on this machine: npm install quipudb';
    return warn('blake3', 'works in JavaScript, at a tenth of the speed', advice);
  }
  return tryNative('blake3', async () => hashBytes(new Uint8Array()) === BLAKE3_OF_NOTHING);
}

async function tryNative(check: string, works: () => Promise<boolean>): Promise<Finding> {
  try {
    if (await works()) return ok(check, 'loads and works');
    return fail(check, 'gives wrong results', 'run: npm rebuild');
  } catch (error) {
    const advice = isQuipuError(error, 'UNSUPPORTED')
      ? 'run: npm install better-sqlite3 zstd-napi'
      : 'run: npm rebuild';
    return fail(check, `does not load: ${messageOf(error)}`, advice);
  }
}

const FREE_BYTES_FAIL: number = 64 * 2 ** 20;
const FREE_BYTES_WARN: number = 2 ** 30;
const SYNCS = 24;
/** No device that keeps its promise answers sooner; a trip to the kernel and back takes a part of this. */
const SYNC_MICROS_MIN = 12;
const SYNC_MICROS_SLOW = 30_000;

/** File systems by their numbers in the kernel. */
const IN_MEMORY = new Map([
  [0x01021994, 'tmpfs'],
  [0x858458f6, 'ramfs'],
]);
const ELSEWHERE = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x01021997, '9p'],
  [0x65735546, 'FUSE'],
]);

/** Checks the disk of the folder itself, or of the folder it would be made in. */
export async function checkDisk(folder: string): Promise<readonly Finding[]> {
  let there = folder;
  while (!existsSync(there) && dirname(there) !== there) there = dirname(there);
  return [await checkSpace(there), await checkFileSystem(there), await checkSync(there)];
}

async function checkSpace(folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const found = `${toSize(free)} free`;
  if (free < FREE_BYTES_FAIL)
    return fail(
      'disk space',
      found,
      'run: quipu gc, or free space elsewhere: appends fail on a full disk',
    );
  if (free < FREE_BYTES_WARN)
    return warn('disk space', found, 'run: quipu gc, or free space elsewhere');
  return ok('disk space', found);
}

async function checkFileSystem(folder: string): Promise<Finding> {
  const { type } = await statfs(folder);
  const memory = IN_MEMORY.get(type);
  if (memory !== undefined) {
    return warn(
      'file system',
      `${memory}, in memory`,
      'a restart of the machine loses everything: move the store to a disk with quipu copy',
    );
  }
  const remote = ELSEWHERE.get(type);
  if (remote !== undefined) {
    const advice =
      'locks and syncs may not hold there: move the store to a local disk with quipu copy';
    return warn('file system', `${remote}, not a local disk`, advice);
  }
  return ok('file system', `a local one (type 0x${type.toString(16)})`);
}

/** Measures the time until a small write is durable: the least cost of an append. */
async function checkSync(folder: string): Promise<Finding> {
  let micros: number;
  try {
    micros = await measureSync(folder);
  } catch (error) {
    const advice =
      'check the owner and mode of the folder: ls -ld <folder>, and that its disk takes writes';
    return fail('sync', `cannot write a file: ${messageOf(error)}`, advice);
  }
  return gradeSync(micros);
}

export function gradeSync(micros: number): Finding {
  const found = `${micros < 1000 ? `${micros.toFixed(0)} µs` : `${(micros / 1000).toFixed(1)} ms`} each`;
  if (micros < SYNC_MICROS_MIN) {
    const advice =
      'no disk is that fast: a power cut may lose acknowledged writes; use another disk';
    return warn('sync', `${found}, too good to be true`, advice);
  }
  if (micros > SYNC_MICROS_SLOW) {
    return warn(
      'sync',
      `${found}, slow`,
      'each append of a single writer waits that long; use a faster disk',
    );
  }
  return ok('sync', found);
}

/** Returns the median, in microseconds. */
async function measureSync(folder: string): Promise<number> {
  const path = join(folder, `doctor-${randomBytes(4).toString('hex')}.tmp`);
  const file = await open(path, 'wx', 0o600);
  try {
    const bytes = randomBytes(4096);
    const taken: number[] = [];
    for (let round = 0; round < SYNCS; round += 1) {
      const start = process.hrtime.bigint();
      await file.write(bytes, 0, bytes.length, 0);
      await file.datasync();
      taken.push(Number(process.hrtime.bigint() - start) / 1000);
    }
    return taken.toSorted((a, b) => a - b)[SYNCS / 2] ?? 0;
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}
