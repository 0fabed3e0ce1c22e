/**
 * Invariant: whatever daemons are killed, and whenever, every task that was added runs to its end at least once, and an id
 * never runs beside itself.
 *
 * Method: tasks hold a lock of the kernel while they run and complain when they do not get it. Ids are added again and again by
 * several at once, while the daemon is killed at random moments.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { NotifierRig } from '../notifier/rig.ts';

const IDS = Array.from({ length: 30 }, (_, index) => `task${index}-`);
const KILLS = 40;

const command = (id: string, number: number): string =>
  `exec 9> lock-${id}; flock -n 9 || echo overlap >> trace; sleep 0.${randomInt(5)}; echo ${id}${number} >> trace`;

it(
  'loses no task and runs none twice at once, though daemons are killed',
  { timeout: 300_000 },
  async () => {
    await using rig = new NotifierRig();
    const accepted: string[] = [];
    let adding = true;
    const adders = [0, 1, 2].map(async (adder) => {
      for (let n = 0; adding; n += 1) {
        const id = IDS[randomInt(IDS.length)]!;
        const number = n * 3 + adder;
        const { code } = await rig.run(
          'task',
          'add',
          '--task-id',
          id,
          '--command',
          command(id, number),
        );
        if (code === 0) accepted.push(`${id}${number}`);
        await sleep(randomInt(60));
      }
    });
    for (let kills = 0; kills < KILLS; kills += 1) {
      const daemon = await rig.daemon();
      await sleep(randomInt(150));
      await daemon.kill();
    }
    adding = false;
    await Promise.all(adders);
    await rig.daemon();
    await rig.until(async () => (await rig.run('task', 'list')).out === '', 60_000);

    const ran = new Set(rig.read('trace').trim().split('\n'));
    expect(accepted.length).toBeGreaterThan(IDS.length / 2);
    expect(accepted.filter((task) => !ran.has(task))).toEqual([]);
    expect(ran.has('overlap')).toBe(false);
  },
);
