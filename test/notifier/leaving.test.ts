/**
 * Invariant: a task that is added runs, also when the daemon is leaving at that moment, and nobody adds another one.
 *
 * Method: a daemon that leaves whenever there is nothing to do, and adding at random moments around that.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { runDaemon } from '../../src/notifier/daemon/run-daemon.ts';
import { ensureDaemon } from '../../src/notifier/ensure-daemon.ts';
import { makeSpool } from '../../src/notifier/spool/home.ts';
import { nodeSpoolIo } from '../../src/notifier/spool/node-spool-io.ts';
import { Spool } from '../../src/notifier/spool/spool.ts';
import type { World } from '../../src/notifier/world.ts';

const SETTINGS = { limit: 4, idleMs: 0, graceMs: 1000, waitMs: 100 };

/** How many of `count` tasks ran; `add` puts one into the spool and sees to a daemon. */
async function addAround(
  count: number,
  add: (spool: Spool, id: string, ensure: () => Promise<void>) => Promise<unknown>,
): Promise<{ ran: number; ends: string[] }> {
  const home = mkdtempSync(join(tmpdir(), 'quipu-leaving-'));
  try {
    await makeSpool(home);
    const spool = new Spool(home, nodeSpoolIo, Date.now);
    const daemons: Promise<string>[] = [];
    const { signal } = new AbortController();
    const world = {
      spawn: async () => {
        daemons.push(
          runDaemon({ spool, log: () => undefined, ...SETTINGS, signal, now: Date.now }),
        );
      },
    } as unknown as World;
    for (let n = 0; n < count; n += 1) {
      await add(spool, `t${n}`, () => ensureDaemon(home, SETTINGS, world));
      await sleep((n * 7) % 23);
    }
    // Those that leave may start over, but nobody starts another one.
    const ends = await Promise.all(daemons);
    const trace = readFileSync(join(home, 'trace'), 'utf8');
    return { ran: new Set(trace.trim().split('\n')).size, ends };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function toTask(spool: Spool, id: string): Parameters<Spool['add']>[0] {
  return { id, author: '', command: `echo ${id} >> trace`, cwd: spool.home, env: {} };
}

it('finds what is added while it leaves', async () => {
  const { ran, ends } = await addAround(40, async (spool, id, ensure) => {
    await spool.add(toTask(spool, id));
    await ensure();
  });
  expect(ran).toBe(40);
  expect(ends.filter((end) => end === 'idle').length).toBeGreaterThan(1);
});

it('would be caught missing it if the daemon were looked for before the task is there', async () => {
  const { ran } = await addAround(10, async (spool, id, ensure) => {
    await ensure();
    await sleep(30);
    await spool.add(toTask(spool, id));
  });
  expect(ran).toBeLessThan(10);
});
