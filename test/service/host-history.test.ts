import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { readOwnerNote } from '../../src/engine/files/disk/owner-note.ts';
import { openStore } from '../../src/open-store.ts';
import { checkHistory } from './check-history.ts';
import type { AppendAsked } from './check-history.ts';
import { readChains, readLogs, Workers } from './history-run.ts';
import { newFolder } from './host-rig.ts';

/*
 * Invariant: whichever process owns a folder, and however often it is killed, no acknowledged append is lost, none
 * is doubled, the head of every context moves in the order of time and never back, and no id is used twice. And
 * who is not killed does not notice: its appends succeed.
 */

const PROCESSES = 3;
const CONTEXTS = 6;
const SECONDS = 30;
const LEAST_KILLS = 15;
/** Of what they note: some dozens of answers, which a slow machine does not give within a second. */
const BYTES_BETWEEN = 20_000;

it(
  `keeps its word to ${PROCESSES} processes while their owner is killed every second`,
  { timeout: 240_000 },
  async () => {
    const folder = newFolder();
    const ids: string[] = [];
    {
      await using store = await openStore(folder);
      for (let n = 0; n < CONTEXTS; n += 1) ids.push(`${(await store.contexts.create()).id}`);
    }
    const logs = `${folder}-logs`;
    mkdirSync(logs);
    const workers = new Workers(folder, logs, ids);
    const killOwner = (): Promise<boolean> => workers.kill(readOwnerNote(folder)?.pid ?? 0);
    let kills = 0;
    try {
      for (let n = 0; n < PROCESSES; n += 1) workers.start();
      const endAt = performance.now() + SECONDS * 1000;
      // On a slow machine it takes longer until they are as many.
      const lastAt = endAt + 3 * SECONDS * 1000;
      const isOver = (): boolean => performance.now() > (kills > LEAST_KILLS ? endAt : lastAt);
      for (let noted = 0; !isOver(); await sleep(20)) {
        if (bytesIn(logs) < noted + BYTES_BETWEEN || !(await killOwner())) continue;
        kills += 1;
        noted = bytesIn(logs);
        await sleep(1000);
      }
      expect(await workers.end()).toEqual([0, 0, 0]);
    } finally {
      workers.killAll();
    }
    const { operations, errors } = readLogs(workers.logs);
    const acknowledged = operations.filter(
      (one): one is AppendAsked => 'depth' in one && one.kind === 'append',
    );
    expect(checkHistory(operations, await readChains(folder, ids))).toEqual([]);
    expect(errors).toEqual([]);
    expect(kills).toBeGreaterThan(LEAST_KILLS);
    expect(acknowledged.length).toBeGreaterThan(kills * 10);
    process.stdout.write(
      `${acknowledged.length} appends were acknowledged, and kept, while ${kills} owners were killed; nobody was answered for ${longestGapMs(acknowledged)} ms at most\n`,
    );
  },
);

function bytesIn(folder: string): number {
  const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size);
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Without an acknowledgement to anyone. */
function longestGapMs(acknowledged: readonly AppendAsked[]): number {
  const times = acknowledged.map((one) => Number((one.answeredAt ?? 0n) / 1_000_000n));
  times.sort((a, b) => a - b);
  return Math.max(...times.map((time, n) => time - (times[n - 1] ?? time)));
}
