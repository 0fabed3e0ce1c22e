import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isQuipuError, messageOf, type ErrorCode } from '../../base/errors.ts';
import type { Store } from '../../store/store.ts';
import { isAddress, quipuVerb, type CommandIo, type QuipuVerb } from '../kit/command.ts';
import { readVersion } from '../kit/process.ts';
import { Unhealthy } from '../kit/report-error.ts';
import { option } from '../kit/verb.ts';
import {
  checkDisk,
  checkMachine,
  fail,
  ok,
  toFindingsTable,
  warn,
  type Finding,
  type Grade,
} from './check-machine.ts';

export const doctor: QuipuVerb = quipuVerb({
  name: 'doctor',
  summary: 'Check a store, this machine or a server, and print what to do.',
  examples: ['quipu doctor', 'quipu doctor --server quipu://127.0.0.1:7411', 'quipu doctor --json'],
  exits: '0 nothing failed, 1 something did, and the line says what to do',
  takes: [option('--server <address>', 'look at this server instead of a store')],
  async run(io, { server }) {
    const place = server ?? io.place;
    const machine = await checkMachine(io.shell);
    const broken = machine.some(({ grade }) => grade === 'fail');
    const ofStore = broken
      ? [warn('store', 'not looked at', 'mend what failed above first')]
      : isAddress(place)
        ? await lookAtServer(io, place)
        : await lookAtFolder(io, place);
    const findings = [...machine, ...ofStore];
    await io.printRows(findings, toFindingsTable);
    const failed = findings.filter(({ grade }) => grade === 'fail').length;
    if (failed > 0) throw new Unhealthy(`${failed} ${failed === 1 ? 'check' : 'checks'} failed`);
  },
});

async function lookAtServer(io: CommandIo, address: string): Promise<readonly Finding[]> {
  const health = /^https?:/i.test(address) ? [await checkHealth(address, readVersion())] : [];
  if (health.some(({ grade }) => grade === 'fail')) return health;
  return [...health, ...(await checkOpen(() => io.openStore(address)))];
}

async function lookAtFolder(io: CommandIo, folder: string): Promise<readonly Finding[]> {
  const disk = await looking('disk', () => checkDisk(folder));
  if (!existsSync(join(folder, 'FORMAT'))) {
    const found = existsSync(folder) ? `${folder} is not a store` : `there is none at ${folder}`;
    return [...disk, warn('store', found, 'create one with: quipu init, or name it with --store')];
  }
  // This module is loaded here: it hashes, and cannot be loaded where hashing does not work.
  const { FOLDER_CHECKS } = await import('./check-folder.ts');
  const findings = [ok('store', folder), ...disk];
  for (const [check, look] of FOLDER_CHECKS) {
    findings.push(...(await looking(check, () => look(folder, io.shell))));
  }
  return [...findings, ...(await checkOpen(() => io.openStore(folder)))];
}

/** A check that fails is a finding, too, and must not hide the others. */
async function looking(
  check: string,
  look: () => Promise<Finding | readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return [await look()].flat();
  } catch (error) {
    return [fail(check, `cannot be looked at: ${messageOf(error)}`, 'check the owner and mode')];
  }
}

const HEALTH_MS = 5000;

/** Reads the health report that an HTTP server gives to anyone who asks. */
async function checkHealth(address: string, version: string): Promise<Finding> {
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

/** Opens the store as any program would, and asks the store about itself. */
async function checkOpen(open: () => Promise<Store>): Promise<readonly Finding[]> {
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

const TO_START = 'check the address and the log of the server; to start one, run: quipu serve';

/** What an error of opening is, and what to do about it. */
const FAILURES: Partial<Record<ErrorCode, readonly [Grade, check: string, advice: string]>> = {
  LOCKED: [
    'warn',
    'opening',
    'wait for that process or end it; you may kill it: no acknowledged write is lost',
  ],
  UNAUTHORIZED: [
    'fail',
    'token',
    'pass --token or set QUIPU_TOKEN; to make a token, run at the server: quipu token create <name>',
  ],
  UNAVAILABLE: ['fail', 'server', TO_START],
  TIMEOUT: ['fail', 'server', TO_START],
};
const TO_RESTORE =
  'do what the message says; for damaged data, run: quipu restore <backup> <new folder>';

function gradeFailure(error: unknown): Finding {
  const found = messageOf(error);
  if (isQuipuError(error, 'FORBIDDEN')) {
    const advice = `run at the server: quipu token create <name> --scope ${error.data.scope}`;
    return fail('token', found, advice);
  }
  const known = isQuipuError(error) ? FAILURES[error.code] : undefined;
  const [grade, check, advice] = known ?? ['fail', 'opening', TO_RESTORE];
  return { check, grade, found, advice };
}
