/**
 * Invariant: a task that is added runs, also when the daemon is leaving at that moment, and nobody adds another one.
 *
 * Method: a daemon that leaves whenever there is nothing to do. A task is added at the worst moment, between its last look
 * at the spool and its giving up the lock, and many are added at all kinds of moments.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { runDaemon } from '../../src/notifier/daemon/run-daemon.ts';
import { readDaemonNote, requestStop, makeSpool } from '../../src/notifier/spool/home.ts';
import { ensureDaemon } from '../../src/notifier/nouns/daemon.ts';
import { nodeSpoolIo, Spool } from '../../src/notifier/spool/spool.ts';
import type { NotifierShell } from '../../src/notifier/nouns/command.ts';
import { PATIENCE } from '../../src/testing/patience.ts';

const SETTINGS = { limit: 4, idleMs: 0, graceMs: 1000, waitMs: 100 };

class Scene implements Disposable {
  readonly home: string = mkdtempSync(join(tmpdir(), 'quipu-leaving-'));
  readonly spool: Spool = new Spool(this.home, nodeSpoolIo, Date.now);
  readonly #daemons: Promise<string>[] = [];

  /** As the command does: into the spool, and then a look for a daemon. */
  async add(id: string): Promise<void> {
    const command = `echo ${id} >> trace`;
    await this.spool.add({ id, author: '', command, cwd: this.home, env: {} });
    const spawn = async (argv: readonly string[]): Promise<void> => {
      const askedAt = Number(argv[argv.indexOf('--asked') + 1]);
      // A process of its own would wait for the lock; here that would keep the one that leaves from leaving.
      if (argv.includes('--wait')) await this.ends();
      this.start(this.spool, { askedAt });
    };
    const shell = { spawn, now: Date.now } as unknown as NotifierShell;
    await ensureDaemon(this.home, SETTINGS, shell);
  }

  start(spool: Spool, given: { readonly idleMs?: number; readonly askedAt?: number } = {}): void {
    const { signal } = new AbortController();
    const asked = { askedAt: Date.now(), ...given };
    const setup = { spool, log: () => undefined, ...SETTINGS, ...asked, signal, now: Date.now };
    this.#daemons.push(runDaemon(setup));
  }

  /** How each daemon ended; meanwhile nobody starts another one. */
  async ends(): Promise<string[]> {
    return Promise.all(this.#daemons);
  }

  ran(): string[] {
    const path = join(this.home, 'trace');
    return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
  }

  [Symbol.dispose](): void {
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** What ran of a task that is added right after the daemon found nothing; `isBlind`: it does not look again. */
async function addAtLastLook(isBlind: boolean): Promise<string[]> {
  using scene = new Scene();
  await makeSpool(scene.home);
  let looks = 0;
  class Watched extends Spool {
    override async listIds(state: Parameters<Spool['listIds']>[0]): Promise<string[]> {
      const ids = await super.listIds(state);
      if (state !== 'pending') return ids;
      looks += 1;
      if (looks === 1) await scene.add('late');
      return isBlind ? [] : ids;
    }
  }
  scene.start(new Watched(scene.home, nodeSpoolIo, Date.now));
  expect(await scene.ends()).toEqual(['idle']);
  return scene.ran();
}

it('runs what is added between the last look and the end of the lock', async () => {
  expect(await addAtLastLook(false)).toEqual(['late']);
});

it('would be caught not looking again', async () => {
  expect(await addAtLastLook(true)).toEqual([]);
});

it('runs what is added at any moment', async () => {
  using scene = new Scene();
  await makeSpool(scene.home);
  for (let n = 0; n < 40; n += 1) {
    await scene.add(`t${n}`);
    await sleep((n * 7) % 23);
    // On a slow machine there is always something to do, and none of them would leave.
    if (n === 20) await scene.ends();
  }
  const ends = await scene.ends();
  expect(new Set(scene.ran()).size).toBe(40);
  expect(ends.filter((end) => end === 'idle').length).toBeGreaterThan(1);
});

it('leaves a spool that was deleted, though it was made anew', async () => {
  using scene = new Scene();
  await makeSpool(scene.home);
  scene.start(scene.spool, { idleMs: 3_600_000 });
  await scene.add('first');
  while (scene.ran().length === 0 || (await scene.spool.countOf('running')) > 0) await sleep(5);
  rmSync(scene.home, { recursive: true });
  await makeSpool(scene.home);
  scene.start(scene.spool);
  expect(await scene.ends()).toEqual(['stopped', 'idle']);
});

/** What ran of a task whose daemon is on the way when it is told to stop; `forgets`: when it was asked for. */
async function stopOnTheWay(forgets: boolean): Promise<{ ran: string[]; ends: string[] }> {
  using scene = new Scene();
  await makeSpool(scene.home);
  const task = {
    id: 'early',
    author: '',
    command: 'echo early >> trace',
    cwd: scene.home,
    env: {},
  };
  await scene.spool.add(task);
  const askedAt = Date.now();
  requestStop(scene.home, askedAt + 1);
  scene.start(scene.spool, { askedAt: forgets ? askedAt + 2 : askedAt });
  return { ends: await scene.ends(), ran: scene.ran() };
}

it('heeds a stop that came while it was on the way, and the next one runs the task', async () => {
  expect(await stopOnTheWay(false)).toEqual({ ends: ['stopped'], ran: [] });
});

it('would be caught not knowing when it was asked for', async () => {
  expect(await stopOnTheWay(true)).toEqual({ ends: ['idle'], ran: ['early'] });
});

it('starts another one for what is added while one leaves', async () => {
  using scene = new Scene();
  await makeSpool(scene.home);
  scene.start(scene.spool, { idleMs: 3_600_000 });
  await vi.waitFor(() => expect(readDaemonNote(scene.home)).toBeDefined(), PATIENCE);
  const stopAt = Date.now();
  requestStop(scene.home, stopAt);
  while (Date.now() === stopAt) await sleep(1);
  await scene.add('after');
  expect(await scene.ends()).toEqual(['stopped', 'idle']);
  expect(scene.ran()).toEqual(['after']);
});
