import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Spool } from '../../src/notifier/spool/spool.ts';
import type { Task } from '../../src/notifier/spool/records.ts';
import { CutDisk, DiskFault } from './cut-disk.ts';
import { DaemonRig, MONDAY } from './daemon-rig.ts';

const MINUTE_MS = 60_000;

describe('tasks', () => {
  it('run side by side up to the limit, in the order in which they came', async () => {
    const rig = new DaemonRig({ limit: 2 });
    const end = rig.daemon.work([]);
    for (const id of ['a', 'b', 'c']) await rig.add(id);
    expect(rig.began).toEqual(['a', 'b']);
    await rig.end('a');
    expect(rig.began).toEqual(['a', 'b', 'c']);
    rig.leaves = true;
    rig.daemon.wake();
    await rig.settle();
    await rig.pass(10_000);
    expect(await end).toBe('stopped');
  });

  it('are pending only until they begin: one added meanwhile runs after', async () => {
    const rig = new DaemonRig();
    void rig.daemon.work([]);
    expect(await rig.add('a')).toBe(true);
    expect([await rig.add('a'), await rig.add('a')]).toEqual([true, false]);
    expect(rig.began).toEqual(['a']);
    await rig.end('a');
    expect(rig.began).toEqual(['a', 'a']);
    await rig.end('a');
    expect(rig.disk.paths()).toEqual([]);
  });

  it('leave exit code and output when they fail, and run again on request', async () => {
    const rig = new DaemonRig();
    void rig.daemon.work([]);
    await rig.add('a', 'make', { env: { KEY: 'v' } });
    await rig.end('a', { exitCode: 7, output: 'no rule\n', omittedBytes: 3 });
    const failed = await rig.spool.getFailed('a');
    expect(failed).toMatchObject({
      command: 'make',
      env: { KEY: 'v' },
      failure: { reason: 'exit', exitCode: 7, output: 'no rule\n', omittedBytes: 3 },
    });
    expect(await rig.spool.retry('b')).toBe('missing');
    expect(await rig.spool.retry('a')).toBe('added');
    rig.daemon.wake();
    await rig.settle();
    expect(rig.running.get('a')?.task).toMatchObject({ command: 'make', env: { KEY: 'v' } });
    expect(await rig.spool.getFailed('a')).toBeUndefined();
  });

  it('that cannot be started have failed', async () => {
    const rig = new DaemonRig();
    rig.startFails = 'the working directory /gone is gone';
    void rig.daemon.work([]);
    await rig.add('a');
    const failed = await rig.spool.getFailed('a');
    expect(failed?.failure).toMatchObject({ reason: 'start', output: rig.startFails });
  });

  it('are killed when their time is up', async () => {
    const rig = new DaemonRig({ graceMs: 2000 });
    void rig.daemon.work([]);
    await rig.add('a', 'sleep', { timeoutMs: 5000 });
    await rig.pass(4000);
    expect(rig.killed).toEqual([]);
    await rig.pass(4000);
    expect(rig.killed.slice(0, 2)).toEqual(['a SIGTERM', 'a SIGKILL']);
    expect((await rig.spool.getFailed('a'))?.failure.reason).toBe('timeout');
  });

  it('that a stop ends stay where they are, to run again', async () => {
    const rig = new DaemonRig();
    const end = rig.daemon.work([]);
    await rig.add('a');
    rig.leaves = true;
    rig.daemon.wake();
    await rig.settle();
    expect(rig.killed).toEqual(['a SIGTERM']);
    await rig.pass(6000);
    expect(await end).toBe('stopped');
    expect(rig.killed).toContain('a SIGKILL');
    const next = new DaemonRig({}, rig.disk);
    void next.daemon.work(await next.spool.listIds('running'));
    await next.settle();
    expect(next.began).toEqual(['a']);
  });

  it('never run beside themselves and are never forgotten, whatever comes in which order', async () => {
    const move = fc.tuple(fc.constantFrom('add', 'end'), fc.constantFrom('a', 'b', 'c', 'd'));
    await fc.assert(
      fc.asyncProperty(fc.array(move, { maxLength: 40 }), async (moves) => {
        const rig = new DaemonRig({ limit: 2 });
        void rig.daemon.work([]);
        let accepted = 0;
        for (const [verb, id] of moves) {
          if (verb === 'end') await rig.end(id);
          else if (await rig.add(id)) accepted += 1;
          expect(rig.running.size).toBeLessThanOrEqual(2);
        }
        while (rig.running.size > 0) await rig.end([...rig.running.keys()][0]!);
        expect(rig.overlaps).toEqual([]);
        expect(rig.began).toHaveLength(accepted);
        expect(rig.disk.paths()).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });

  it('all run, though the disk refuses any one operation', async () => {
    expect(await refuseEach(Spool)).toEqual([]);
  });

  it('would be missed if one that was moved when the disk failed were not looked for', async () => {
    class Forgetful extends Spool {
      override async reclaim(id: string): Promise<Task | undefined> {
        return (await this.getRun(id)) === undefined ? undefined : super.reclaim(id);
      }
    }
    expect(await refuseEach(Forgetful)).not.toEqual([]);
  });
});

/** Runs two tasks with each operation of the disk refused once, and gives those after which one did not run. */
async function refuseEach(SpoolClass: typeof Spool): Promise<number[]> {
  const broken: number[] = [];
  for (let failAt = 0; ; failAt += 1) {
    const rig = new DaemonRig({ limit: 1 }, new CutDisk({ failAt }), SpoolClass);
    void rig.daemon.work([]);
    for (const id of ['a', 'b']) {
      // Who adds is told, and tries again.
      await rig.add(id).catch(async (error: unknown) => {
        if (!(error instanceof DiskFault)) throw error;
        await rig.add(id);
      });
    }
    for (let round = 0; round < 6; round += 1) {
      for (const id of rig.running.keys()) await rig.end(id);
      await rig.pass(2000);
    }
    if (new Set(rig.began).size !== 2 || rig.overlaps.length > 0) broken.push(failAt);
    if (rig.disk.operations <= failAt) return broken;
  }
}

describe('idling', () => {
  it('ends the daemon, but not before its time and not beside a timer', async () => {
    const rig = new DaemonRig({ idleMs: 10_000 });
    let end: string | undefined;
    void rig.daemon.work([]).then((how) => (end = how));
    await rig.pass(9000);
    await rig.add('a');
    await rig.pass(20_000);
    expect(end).toBeUndefined();
    await rig.end('a');
    await rig.spool.addTimer(timer('t', '0 0 1 1 *'));
    await rig.pass(30_000);
    expect(end).toBeUndefined();
    await rig.spool.remove('timers', 't');
    await rig.pass(9000);
    expect(end).toBeUndefined();
    await rig.pass(3000);
    expect(end).toBe('idle');
  });
});

describe('timers', () => {
  it('add their task at its times, once while it waits', async () => {
    const rig = new DaemonRig({ limit: 1 });
    await rig.spool.addTimer(timer('poll', '*/5 * * * *'));
    void rig.daemon.work([]);
    await rig.pass(4 * MINUTE_MS, 10_000);
    expect(rig.began).toEqual([]);
    await rig.pass(MINUTE_MS, 10_000);
    expect(rig.began).toEqual(['timer-poll']);
    expect(rig.now).toBe(MONDAY + 5 * MINUTE_MS);
    await rig.pass(20 * MINUTE_MS, 10_000);
    expect(rig.began).toHaveLength(1);
    await rig.end('timer-poll');
    expect(rig.began).toHaveLength(2);
    await rig.end('timer-poll');
    expect(rig.began).toHaveLength(2);
  });

  it('that come late, as after the sleep of the machine, come once', async () => {
    const rig = new DaemonRig();
    await rig.spool.addTimer(timer('poll', '* * * * *'));
    void rig.daemon.work([]);
    await rig.settle();
    await rig.pass(180 * MINUTE_MS, 180 * MINUTE_MS);
    expect(rig.began).toEqual(['timer-poll']);
    await rig.end('timer-poll');
    expect(rig.began).toHaveLength(1);
  });

  it('can come and go while the daemon works', async () => {
    const rig = new DaemonRig();
    void rig.daemon.work([]);
    await rig.spool.addTimer(timer('t', '1 8 * * mon'));
    await rig.pass(30_000);
    await rig.spool.remove('timers', 't');
    await rig.pass(60_000);
    expect(rig.began).toEqual([]);
  });
});

function timer(id: string, cron: string): Parameters<DaemonRig['spool']['addTimer']>[0] {
  return { id, cron, zone: 'UTC', author: '', command: 'true', cwd: '/', env: {} };
}
