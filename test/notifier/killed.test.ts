/**
 * Invariant: after a daemon was killed, the next one runs again what was running, when nothing is left of that run, and
 * then what waited.
 *
 * Method: a real daemon is killed with a task in its middle. The next one works in this process, so that it can be given a
 * spool that forgets.
 */
import { describe, expect, it } from 'vitest';
import { runDaemon } from '../../src/notifier/daemon/run-daemon.ts';
import { nodeSpoolIo, Spool } from '../../src/notifier/spool/spool.ts';
import type { Run } from '../../src/notifier/spool/records.ts';
import { NotifierRig } from './rig.ts';

/** Complains when another one runs, and ends when there is a file `go`, or no folder for one. */
const WORK =
  'exec 9> lock; flock -n 9 || echo overlap >> trace; echo begin >> trace; while [ -e trace ] && [ ! -e go ]; do sleep 0.02; done; echo end >> trace';

class Forgetful extends Spool {
  override async listIds(state: Parameters<Spool['listIds']>[0]): Promise<string[]> {
    return state === 'running' ? [] : super.listIds(state);
  }
}

class Unaware extends Spool {
  override async getRun(): Promise<Run | undefined> {
    return undefined;
  }
}

/** `begins`: how often the task is begun, before it may end. */
async function goOnWith(SpoolClass: typeof Spool, begins: number): Promise<string> {
  await using rig = new NotifierRig();
  const daemon = await rig.daemon();
  await rig.run('task', 'add', '--task-id', 'a', '--command', WORK);
  await rig.run('task', 'add', '--task-id', 'b', '--command', 'echo waited >> trace');
  await rig.until(() => ['begin', 'waited'].every((word) => rig.read('trace').includes(word)));
  await daemon.kill();
  expect((await rig.run('task', 'list')).out).toMatch(/^a +interrupted /m);
  await rig.run('task', 'add', '--task-id', 'c', '--command', 'echo next >> trace');
  const spool = new SpoolClass(rig.home, nodeSpoolIo, Date.now);
  const { signal } = new AbortController();
  const options = { limit: 2, idleMs: 0, graceMs: 5000, waitMs: 5000, signal, now: Date.now };
  const done = runDaemon({ spool, log: () => undefined, askedAt: Date.now(), ...options });
  await rig.until(() => {
    const trace = rig.read('trace');
    return trace.includes('next') && (trace.match(/begin/g) ?? []).length === begins;
  });
  rig.write('go');
  expect(await done).toBe('idle');
  await rig.until(() => rig.read('trace').includes('end'));
  return rig.read('trace');
}

describe('a daemon that is killed', { timeout: 60_000 }, () => {
  it('is followed by one that ends what is left of a run, and begins it again', async () => {
    const trace = await goOnWith(Spool, 2);
    expect(trace.match(/begin|end|overlap/g)).toEqual(['begin', 'begin', 'end']);
  });

  it('would leave a task behind if the next one did not look for what was running', async () => {
    const trace = await goOnWith(Forgetful, 1);
    expect(trace.match(/begin/g)).toHaveLength(1);
  });

  it('would leave a task that runs beside itself if the next one did not end it', async () => {
    expect(await goOnWith(Unaware, 2)).toContain('overlap');
  });
});
