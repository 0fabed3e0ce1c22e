import type { Finding } from './finding.ts';
import { fail, ok, reasonOf, warn } from './finding.ts';
import type { Machine } from './machine.ts';

const NODE_MIN: readonly [number, number] = [20, 19];
/** Packs, the index, the journal and a connection each take one open file. */
const OPEN_FILES_MIN = 1024;
/** BLAKE3 of no bytes at all. */
const BLAKE3_OF_NOTHING = 'af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262';
/** No clock that is set shows a time before this program was written. */
const CLOCK_MIN_MS: number = Date.UTC(2026, 0);

export function checkNode({ nodeVersion }: Machine): Finding {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  const [needMajor, needMinor] = NODE_MIN;
  if (major > needMajor || (major === needMajor && minor >= needMinor)) {
    return ok('node', `version ${nodeVersion}`);
  }
  return fail(
    'node',
    `version ${nodeVersion}, older than ${NODE_MIN.join('.')}`,
    'install a newer Node',
  );
}

export function checkOpenFiles({ openFiles }: Machine): Finding {
  if (openFiles === undefined) return ok('open files', 'this system does not tell its limit');
  const found = `at most ${openFiles === Infinity ? 'unlimited' : openFiles} at once`;
  if (openFiles >= OPEN_FILES_MIN) return ok('open files', found);
  return warn('open files', found, `raise it before serving many clients: ulimit -n 4096`);
}

export function checkClock(nowMs: number): Finding {
  const found = new Date(nowMs).toISOString();
  if (nowMs >= CLOCK_MIN_MS) return ok('clock', found);
  return warn('clock', `${found}, which is past`, 'set it: turns carry the time they were made');
}

/** Loads the modules compiled for this machine, and uses each of them once. */
export async function checkNative(): Promise<readonly Finding[]> {
  return [
    await tryNative('blake3', async () => {
      const { hashBytes } = await import('../../base/hash.ts');
      return hashBytes(new Uint8Array()) === BLAKE3_OF_NOTHING;
    }),
    await tryNative('zstd', async () => {
      const { compress, decompress } = await import('../../base/compress.ts');
      const bytes = Buffer.from('knots in a cord '.repeat(8));
      return Buffer.compare(decompress(compress(bytes), bytes.length), bytes) === 0;
    }),
    await tryNative('sqlite', async () => {
      const { openDatabase } = await import('../../engine/files/index/open-database.ts');
      const db = openDatabase(':memory:');
      db.close();
      return !db.open;
    }),
  ];
}

async function tryNative(check: string, works: () => Promise<boolean>): Promise<Finding> {
  try {
    if (await works()) return ok(check, 'loads and works');
    return fail(check, 'gives wrong results', 'install again: npm rebuild');
  } catch (error) {
    const advice = 'build it for this machine: npm rebuild (with allowScripts, see README)';
    return fail(check, `does not load: ${reasonOf(error)}`, advice);
  }
}
