import { describe, expect, it } from 'vitest';
import { message } from '../../../src/testing/queue-suite/fixture.ts';
import { eventually } from '../../queue/rig.ts';
import { openRig } from './rig.ts';
import { LEASE_MS, WorkerProcess, runWorkers } from './workers.ts';

describe('many workers', { timeout: 60_000 }, () => {
  it('handle everything, never twice at once, when they are killed at random', async () => {
    const rig = await openRig();
    const load = { workers: 2, consumers: 2, events: 120, kills: 2 };
    expect(await runWorkers(rig, load)).toEqual({ missing: [], twice: [] });
  });

  /** Whether two handlers ran at the same time when the worker of the first one was killed. */
  async function takeOver(guard: 'guarded' | 'unguarded', withinMs: number): Promise<boolean> {
    const rig = await openRig();
    const handler = `cd ${rig.notes}; echo x >> begun; while [ -d ${rig.notes} ]; do echo $$ >> ticks; sleep 0.1; done`;
    await rig.inbox.subscribe({ consumer: 'w', handler });
    await rig.inbox.push(message('1'));
    const first = new WorkerProcess(rig.url, guard);
    await eventually(() => rig.noted('begun').length === 1);
    await first.kill();
    const killedAt = Date.now();
    const second = new WorkerProcess(rig.url, guard);
    await eventually(() => rig.noted('begun').length === 2);
    // Redelivered when the time of the lease and that of a look are over, which are short.
    expect(Date.now() - killedAt).toBeLessThan(LEASE_MS + 15_000);
    const before = rig.noted('ticks').length;
    const areTwo = (): boolean => new Set(rig.noted('ticks').slice(before)).size > 1;
    await eventually(areTwo, withinMs).catch(() => undefined);
    await second.kill();
    return areTwo();
  }

  it('take over from one that was killed, whose handler went with it', async () => {
    expect(await takeOver('guarded', 500)).toBe(false);
  });

  it('would run a handler twice at once if it outlived its worker', async () => {
    expect(await takeOver('unguarded', 10_000)).toBe(true);
  });
});
