import { createConnection } from 'node:net';
import { existsSync } from 'node:fs';
import { fail, ok, warn, type Finding } from './finding.ts';
import { isQuipuError, messageOf } from '../../base/errors.ts';
import { readOwnerNote } from '../../engine/files/disk/owner-note.ts';
import { placeOf } from '../../server/local/listen.ts';
import type { Store } from '../../store/store.ts';

const HEALTH_MS = 5000;

/** Reads the health report that an HTTP server gives to anyone who asks. */
export async function checkHealth(address: string, version: string): Promise<Finding> {
  const url = new URL('/healthz', address);
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(HEALTH_MS) });
    const said = (await response.json()) as {
      readonly status?: unknown;
      readonly version?: unknown;
    };
    if (typeof said.status !== 'string' || typeof said.version !== 'string') {
      return fail(
        'server',
        `${url.host} is not a Quipu server`,
        'check the address: the server printed it when it started',
      );
    }
    const found = `${said.status}, version ${said.version}`;
    if (!response.ok)
      return fail('server', found, 'read the log of the server, and run there: quipu doctor');
    if (said.version === version) return ok('server', found);
    return warn(
      'server',
      `${found}, and this is ${version}`,
      'run where the older one is: npm install quipudb@latest',
    );
  } catch (error) {
    const { cause } = error as Error;
    const reason = messageOf(cause instanceof Error && cause.message !== '' ? cause : error);
    return fail(
      'server',
      `does not answer: ${reason}`,
      'check the address and port; to start a server, run: quipu serve',
    );
  }
}

const CONNECT_MS = 2000;

/** Opens the store as any program would, and asks the store about itself. */
export async function checkOpen(open: () => Promise<Store>): Promise<readonly Finding[]> {
  let store: Store;
  const started = performance.now();
  try {
    store = await open();
  } catch (error) {
    return [gradeFailure(error)];
  }
  try {
    const { turns, contexts, damage, durability, engine } = await store.maintain.stats();
    const ms = Math.round(performance.now() - started);
    const findings = [
      ok('opening', `${ms} ms; ${engine} engine, ${contexts} contexts, ${turns} turns`),
      durability === 'safe'
        ? ok('durability', 'safe')
        : warn(
            'durability',
            'unsafe',
            'a power cut can lose the last commits; open the store without durability: "unsafe"',
          ),
    ];
    const [first] = damage;
    if (first === undefined)
      return [...findings, ok('damage', 'none known; quipu verify reads all')];
    const found = `${damage.length} places, first: ${first.file} at byte ${first.offset}, ${first.what}`;
    return [
      ...findings,
      fail('damage', found, 'run: quipu verify, then: quipu restore <backup> <new folder>'),
    ];
  } catch (error) {
    return [gradeFailure(error)];
  } finally {
    await store.close();
  }
}

function gradeFailure(error: unknown): Finding {
  const found = messageOf(error);
  if (isQuipuError(error, 'LOCKED')) {
    return warn(
      'opening',
      found,
      'wait for that process or end it; you may kill it: no acknowledged write is lost',
    );
  }
  if (isQuipuError(error, 'UNAUTHORIZED')) {
    return fail(
      'token',
      found,
      'pass --token or set QUIPU_TOKEN; to make a token, run at the server: quipu token create <name>',
    );
  }
  if (isQuipuError(error, 'FORBIDDEN')) {
    return fail(
      'token',
      found,
      `run at the server: quipu token create <name> --scope ${error.data.scope}`,
    );
  }
  if (isQuipuError(error, 'UNAVAILABLE') || isQuipuError(error, 'TIMEOUT')) {
    return fail(
      'server',
      found,
      'check the address and the log of the server; to start one, run: quipu serve',
    );
  }
  return fail(
    'opening',
    found,
    'do what the message says; for damaged data, run: quipu restore <backup> <new folder>',
  );
}

/** The socket by which other processes of this machine reach the owner. */
export async function checkSocket(folder: string): Promise<Finding> {
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
