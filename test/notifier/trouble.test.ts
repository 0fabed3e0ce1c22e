/**
 * Invariant: a spool that cannot be written to takes no task and says so, and a daemon that works on it goes on when it
 * can be written to again. A command that never ends keeps nobody else, is shown, and can be ended.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runDaemon } from '../../src/notifier/daemon/run-daemon.ts';
import { nodeSpoolIo, Spool } from '../../src/notifier/spool/spool.ts';
import type { Task } from '../../src/notifier/spool/records.ts';
import { NotifierRig, isAlive } from './rig.ts';

const ENDLESS = 'echo begin >> trace; while [ -e trace ]; do sleep 0.05; done';

/** Gives up for good what it could not do once. */
class Despairing extends Spool {
  readonly #lost = new Set<string>();

  override async claim(id: string): Promise<Task | undefined> {
    if (this.#lost.has(id)) return undefined;
    try {
      return await super.claim(id);
    } catch (error) {
      this.#lost.add(id);
      throw error;
    }
  }
}

/** Whether files can be kept from being changed, by the superuser, too. */
function freeze(path: string, sign: '+' | '-'): boolean {
  return spawnSync('chattr', [`${sign}i`, join(path, 'pending'), join(path, 'aside')]).status === 0;
}

/** What ran of a task that waited when the spool became read-only, within a time after it was not any more. */
async function thaw(
  SpoolClass: typeof Spool,
  ms: number,
): Promise<{ refused: string; ran: string }> {
  await using rig = new NotifierRig();
  await rig.run('task', 'add', '--task-id', 'a', '--command', 'echo a >> trace');
  if (!freeze(rig.home, '+')) return { refused: 'skip', ran: '' };
  const stop = new AbortController();
  const logged: string[] = [];
  const options = { limit: 2, idleMs: 60_000, graceMs: 100, waitMs: 5000, now: Date.now };
  const done = runDaemon({
    spool: new SpoolClass(rig.home, nodeSpoolIo, Date.now),
    log: (line) => logged.push(line),
    ...options,
    askedAt: Date.now(),
    signal: stop.signal,
  });
  try {
    await rig.until(() => logged.some((line) => line.startsWith('claiming task a: EPERM')));
    const refused = await rig.run('task', 'add', '--task-id', 'b', '--command', 'true');
    expect(refused).toMatchObject({ code: 1, out: '' });
    freeze(rig.home, '-');
    await rig.until(() => rig.read('trace') !== '', ms).catch(() => undefined);
    return { refused: refused.err, ran: rig.read('trace') };
  } finally {
    freeze(rig.home, '-');
    stop.abort();
    await done;
  }
}

describe('a spool that is read-only for a while', { timeout: 60_000 }, () => {
  it('takes nothing, says so, and then goes on', async (context) => {
    const { refused, ran } = await thaw(Spool, 30_000);
    if (refused === 'skip') context.skip('files cannot be made immutable here');
    expect(refused).toMatch(/^Error: .* cannot be written .* - choose another folder/);
    expect(ran).toBe('a\n');
  });

  it('would be noticed if a task were given up', async (context) => {
    const { refused, ran } = await thaw(Despairing, 2000);
    if (refused === 'skip') context.skip('files cannot be made immutable here');
    expect(ran).toBe('');
  });
});

/** With an endless task and another one: how many of both began within a time. */
async function addBesideEndless(rig: NotifierRig, tasks: string, ms: number): Promise<string> {
  await rig.daemon('--tasks', tasks);
  await rig.run('task', 'add', '--task-id', 'endless', '--command', ENDLESS);
  await rig.until(() => rig.read('trace') !== '');
  await rig.run('task', 'add', '--task-id', 'other', '--command', 'echo other >> trace');
  await rig.until(() => rig.read('trace').includes('other'), ms).catch(() => undefined);
  return rig.read('trace');
}

describe('a command that never ends', { timeout: 60_000 }, () => {
  it('keeps no other task, is shown with its process, and can be ended by it', async () => {
    await using rig = new NotifierRig();
    expect(await addBesideEndless(rig, '2', 30_000)).toBe('begin\nother\n');
    await rig.until(async () => (await rig.run('task', 'list')).out.split('\n').length === 3);
    const shown = JSON.parse((await rig.run('task', 'list', '--json')).out) as {
      pid: number;
      startedAt: number;
    };
    expect(Date.now() - shown.startedAt).toBeLessThan(60_000);
    const { out } = await rig.run('task', 'list', '--state', 'running');
    expect(out).toMatch(new RegExp(`^endless +running +process ${shown.pid} since \\S+Z `, 'm'));
    const refused = await rig.run('task', 'remove', 'endless');
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.err).toMatch(new RegExp(`or end it with: kill -- -${shown.pid}\\n$`));
    process.kill(-shown.pid, 'SIGTERM');
    await rig.until(async () => (await rig.run('task', 'list')).out.includes('SIGTERM'));
    expect(isAlive(String(shown.pid))).toBe(false);
    expect((await rig.run('task', 'remove', 'endless')).out).toBe('Removed task endless (error)\n');
  });

  it('would be noticed keeping another one', async () => {
    await using rig = new NotifierRig();
    expect(await addBesideEndless(rig, '1', 500)).toBe('begin\n');
  });
});
