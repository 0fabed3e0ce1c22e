/**
 * Invariant: whatever a handler does, its consumer has one at a time, the other consumers go on, and whoever looks can
 * see what runs and end it.
 */
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readLock } from '../../src/queue/dispatch/consumer-lock.ts';
import { isRunning } from '../../src/queue/dispatch/run-handler.ts';
import { queueFolder } from '../../src/queue/sqlite/queue-folder.ts';
import { createQueueFolder } from '../../src/queue/sqlite/open-database.ts';
import { SqliteQueue } from '../../src/queue/sqlite-queue.ts';
import { projectPath } from '../support/project.ts';
import { message } from './fixture.ts';
import { ONE_BY_ONE, SUPERVISOR, ThreadRig, eventually } from './rig.ts';

const IMPATIENT = projectPath('test/queue/impatient-supervisor.mjs');
const CLINGING = projectPath('test/queue/clinging-supervisor.mjs');

interface Scene {
  readonly rig: ThreadRig;
  readonly queue: SqliteQueue;
  readonly trace: string;
  readonly go: string;
}

/** At its end `go` is there, and nothing runs. */
function open(supervisor: string): Scene {
  const rig = new ThreadRig();
  createQueueFolder(rig.inbox);
  const queue = new SqliteQueue(queueFolder(rig.inbox), { supervisor, wakes: false });
  const go = join(rig.notes, 'go');
  onTestFinished(async () => {
    writeFileSync(go, '');
    await eventually(() => !existsSync(rig.inbox) || rig.isQuiet);
    await queue.close();
    rig[Symbol.dispose]();
  });
  return { rig, queue, trace: join(rig.notes, 'trace'), go };
}

/** Ends when there is a file `go`, or no place for one. */
const endless = ({ go, rig }: Scene): string =>
  `while [ -d ${rig.notes} ] && [ ! -e ${go} ]; do sleep 0.02; done`;

async function runBesideEndless(supervisor: string, ms: number): Promise<Scene> {
  const scene = open(supervisor);
  const { rig, queue, trace } = scene;
  await queue.subscribe({ consumer: 'a', handler: `echo a >> ${trace}; ${endless(scene)}` });
  await queue.subscribe({ consumer: 'b', handler: `echo b >> ${trace}` });
  await queue.push(message('x'));
  await queue.dispatch();
  await eventually(() => rig.lines(trace).includes('a'));
  await eventually(() => rig.lines(trace).includes('b'), ms).catch(() => undefined);
  return scene;
}

describe('a handler that never ends', { timeout: 60_000 }, () => {
  it('keeps nobody else, is shown, and can be ended for good', async () => {
    const { rig, queue, trace } = await runBesideEndless(SUPERVISOR, 30_000);
    expect(rig.lines(trace)).toEqual(['a', 'b']);
    await queue.push(message('y'));
    await eventually(() => rig.lines(trace).includes('b'));
    const [a] = (await queue.info()).progress;
    expect(a).toMatchObject({ state: 'running', handler: readRun(queue) });
    const { handler } = a!;
    expect(Date.parse(handler!.since)).toBeLessThanOrEqual(Date.now());
    expect((await rig.sh('thread info --thread inbox')).out).toContain(
      `\na runs since ${handler!.since} as process ${handler!.pid}\n`,
    );
    await queue.unsubscribe('a');
    await rig.sh(`kill -- -${handler!.pid}`);
    await eventually(() => readLock(queue.folder, 'a') === undefined);
    expect((await queue.info()).progress.map(({ consumer_id }) => consumer_id)).toEqual(['b']);
  });

  it('would be noticed keeping the others', async () => {
    const { rig, trace } = await runBesideEndless(ONE_BY_ONE, 700);
    expect(rig.lines(trace)).toEqual(['a']);
  });
});

function readRun({ folder }: SqliteQueue): { pid: number; since: string } {
  const { pid, since } = readLock(folder, 'a')!.handler!;
  return { pid, since };
}

/** Two events for a handler that leaves its work to the background: how its runs began and ended. */
async function runForking(supervisor: string, ms: number): Promise<string[]> {
  const scene = open(supervisor);
  const { rig, queue, trace, go } = scene;
  const work = `echo begin >> ${trace}; (${endless(scene)}; echo end >> ${trace}) & exit 0`;
  await queue.subscribe({ consumer: 'a', handler: work });
  const begins = async (runs: number): Promise<boolean> => {
    await queue.dispatch();
    return rig.lines(trace).length === runs;
  };
  await queue.push(message('x'));
  await eventually(() => begins(1));
  await queue.push(message('y'));
  await eventually(() => begins(2), ms).catch(() => undefined);
  writeFileSync(go, '');
  await eventually(() => rig.lines(trace).length === 4);
  return rig.lines(trace);
}

describe('a handler that forks away', { timeout: 60_000 }, () => {
  it('runs as long as what it left in its group', async () => {
    expect(await runForking(SUPERVISOR, 300)).toEqual(['begin', 'end', 'begin', 'end']);
  });

  it('would be noticed running twice at once', async () => {
    expect(await runForking(IMPATIENT, 30_000)).toEqual(['begin', 'begin', 'end', 'end']);
  });

  it('has ended when it left for a session of its own, and holds nobody up', async () => {
    expect(await runLeaving(SUPERVISOR, 30_000)).toEqual(['run', 'run', 'left', 'left']);
  });

  it('would be noticed holding its consumer up', async () => {
    expect(await runLeaving(CLINGING, 300)).toEqual(['run', 'left']);
  });
});

/** Two events for a handler that leaves its work to a session of its own: its runs, and the ends of what it left. */
async function runLeaving(supervisor: string, ms: number): Promise<string[]> {
  const scene = open(supervisor);
  const { rig, queue, trace, go } = scene;
  const leave = `setsid sh -c '${endless(scene)}; echo left >> ${trace}' < /dev/null > /dev/null 2>&1 &`;
  await queue.subscribe({ consumer: 'a', handler: `echo run >> ${trace}; ${leave} sleep 0.1` });
  for (const runs of [1, 2]) {
    await queue.push(message('x'));
    await queue.dispatch();
    await eventually(() => rig.lines(trace).includes('run'));
    const isDone = (): boolean => rig.lines(trace).length === runs && rig.isQuiet;
    await eventually(isDone, ms).catch(() => undefined);
  }
  const runs = rig.lines(trace).length;
  writeFileSync(go, '');
  await eventually(() => rig.lines(trace).length === 2 * runs && rig.isQuiet);
  return rig.lines(trace);
}

/** Whether the folder is there again when its supervisor has ended. */
async function deleteBesideHandler(supervisor: string): Promise<boolean> {
  const scene = open(supervisor);
  const { rig, queue, go, trace } = scene;
  await queue.subscribe({ consumer: 'a', handler: `echo run >> ${trace}; ${endless(scene)}` });
  await queue.push(message('x'));
  await queue.dispatch();
  // From then on it only waits.
  await eventually(
    () => rig.lines(trace).length === 1 && readLock(queue.folder, 'a') !== undefined,
  );
  const { supervisor: process } = readLock(queue.folder, 'a')!;
  rmSync(rig.inbox, { recursive: true });
  writeFileSync(go, '');
  await eventually(() => !isRunning(process));
  const isBack = existsSync(rig.inbox);
  rmSync(rig.inbox, { recursive: true, force: true });
  return isBack;
}

describe('a folder that is deleted while a handler runs', { timeout: 60_000 }, () => {
  it('ends its supervisor, and does not come back', async () => {
    expect(await deleteBesideHandler(SUPERVISOR)).toBe(false);
  });

  it('would be noticed coming back', async () => {
    expect(await deleteBesideHandler(CLINGING)).toBe(true);
  });
});

const DISPATCHERS = 3;

/** Whom dispatches in several processes started, all at the same moment. */
async function dispatchAtOnce(...broken: string[]): Promise<string[]> {
  const scene = open(SUPERVISOR);
  const { rig, queue } = scene;
  await queue.subscribe({ consumer: 'a', handler: endless(scene) });
  await queue.push(message('x'));
  const program = projectPath('test/queue/dispatcher.mjs');
  const gate = join(rig.notes, 'gate');
  const args = [program, rig.inbox, SUPERVISOR, gate, ...broken].map((word) => `"${word}"`);
  const dispatchers = Array.from({ length: DISPATCHERS }, () =>
    rig.sh(`"${process.execPath}" ${args.join(' ')}`),
  );
  await eventually(() => readdirSync(rig.notes).length === dispatchers.length);
  writeFileSync(gate, '');
  const ran = await Promise.all(dispatchers);
  return ran.map(({ out }) => out.trim()).filter((out) => out !== '');
}

describe('dispatches in several processes at once', { timeout: 60_000 }, () => {
  it('start a handler once', async () => {
    expect(await dispatchAtOnce()).toEqual(['a']);
  });

  it('would be caught without a lock between the look and the start', async () => {
    expect(await dispatchAtOnce(String(DISPATCHERS))).toEqual(['a', 'a', 'a']);
  });
});
