import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import { checkHistory } from '../service/check-history.ts';
import { readChains, readLogs, Workers } from '../service/history-run.ts';
import { PostgresServer } from '../support/postgres/postgres-server.ts';

/*
 * Invariant: whatever is killed, the database or a process that uses it, no acknowledged append is lost, none is
 * doubled, and the head of every context moves in the order of time and never back.
 */

const PROCESSES = 3;
const CONTEXTS = 6;
const WRITERS = 30;
const ROUNDS = 6;

it('loses and doubles nothing while the database and its users are killed', async () => {
  const server = await PostgresServer.start({ durable: true });
  const logs = mkdtempSync(join(tmpdir(), 'quipu-history-'));
  const place = await server.createDatabase();
  const ids: string[] = [];
  {
    await using store = await openStore(place);
    for (let n = 0; n < CONTEXTS; n += 1) ids.push(`${(await store.contexts.create()).id}`);
  }
  const workers = new Workers(place, logs, ids, WRITERS);
  try {
    for (let n = 0; n < PROCESSES; n += 1) workers.start();
    for (let round = 0; round < ROUNDS; round += 1) {
      await sleep(2000);
      await workers.kill(workers.pids[round % PROCESSES]!);
      if (round % 2 === 0) continue;
      await server.kill();
      await server.start();
    }
    await sleep(2000);
    expect(await workers.end()).toEqual([0, 0, 0]);
    const { operations, errors } = readLogs(workers.logs);
    expect(checkHistory(operations, await readChains(place, ids))).toEqual([]);
    expect(errors).toEqual([]);
    process.stdout.write(`${operations.length} requests, and nothing lost or doubled\n`);
  } finally {
    workers.killAll();
    await server.dispose();
    rmSync(logs, { recursive: true, force: true });
  }
});
