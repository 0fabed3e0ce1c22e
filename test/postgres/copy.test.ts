import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { copyStore } from '../../src/copy-store.ts';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { openPostgresEngine } from '../../src/engine/postgres/postgres-engine.ts';
import { copyEngine } from '../../src/maintain/copy/copy-engine.ts';
import { openStore } from '../../src/open-store.ts';
import { Database } from '../../src/postgres/database.ts';
import { FolderRecords } from '../../src/queue/upkeep/folder-records.ts';
import type { QueueRecords } from '../../src/queue/upkeep/queue-records.ts';
import { createPostgresQueues } from '../../src/queue/postgres/postgres-queue.ts';
import { PostgresRecords } from '../../src/queue/postgres/postgres-records.ts';
import { LeaseTable } from '../../src/queue/postgres/tables/consumer-table.ts';
import { cutAfter, expectEqual, fillSource } from '../copy/copy-rig.ts';
import {
  copyAll,
  copyCutOff,
  fillQueues,
  tellQueues,
  TWO_PAGES,
  withQueueChanges,
} from '../copy/queue-rig.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

/*
 * Invariant: a store that went from a folder to a database and from there to another folder, cut off and resumed
 * on both ways, is the store that it was: every record, every byte, and `verify` finds nothing.
 */
it(
  'goes from files to a database and back, cut off again and again',
  { timeout: 90_000 },
  async () => {
    const folder = freshFolder('quipu-copy-');
    const url = await freshDatabase();
    const source = await openFilesEngine(join(folder, 'one'));
    await fillSource(source);
    let cuts = 0;
    for (let writes = 1; cuts < 100; writes = 3 - writes) {
      // Each run has a process of its own, so to speak: nothing of the one before is in memory.
      const target = await openPostgresEngine(url, { connections: 4 });
      const isCut = await copyEngine(source, cutAfter(target, writes)).then(
        () => false,
        () => true,
      );
      if (!isCut) await expectEqual(source, target);
      await target.close();
      if (!isCut) break;
      cuts += 1;
    }
    expect(cuts).toBeGreaterThan(4);
    await source.close();
    const back = join(folder, 'two');
    const stopped = AbortSignal.abort(new Error('stopped'));
    await expect(copyStore(url, back, { signal: stopped })).rejects.toThrow('stopped');
    const report = await copyStore(url, back);
    expect(report).toMatchObject({ turns: 5, contexts: 4, patches: 5, leftOut: [] });
    const [first, last] = [
      await openFilesEngine(join(folder, 'one')),
      await openFilesEngine(join(folder, 'two')),
    ];
    await expectEqual(first, last);
    await last.close();
    await first.close();
  },
);

/*
 * Invariant: the same for queues, and a database that is not what it says it is shows.
 */
describe('queues', () => {
  it('go from files to a database and back, cut off at every write', async () => {
    const { folder, source, database } = await makePlaces();
    await copyCutOff(source, () => new PostgresRecords(database));
    const there = new PostgresRecords(database);
    const told = await tellQueues(source);
    expect(await tellQueues(there)).toEqual(told);
    expect(await there.check()).toEqual([]);
    const queues = createPostgresQueues(database);
    const info = await (await queues.open('jobs')).info();
    expect(info.progress).toMatchObject([
      { consumer_id: 'all', last_acked_id: 59, lag: 1, state: 'idle' },
      { consumer_id: 'gone', last_acked_id: 7, lag: null },
      { consumer_id: 'some', lag: 20, state: 'failed', last_error: 'exit 1: what\0ever' },
    ]);
    // One that is marked failed waits for the next event, as it did where it comes from.
    const due: string[] = [];
    for await (const { consumer_id } of new LeaseTable(database).due()) due.push(consumer_id);
    expect(due).toEqual(['late', 'all']);
    const back = new FolderRecords(join(folder, 'back'));
    await copyCutOff(there, () => new FolderRecords(join(folder, 'back')));
    expect(await tellQueues(back)).toEqual(told);
    back.close();
    const jobs = await queues.open('jobs');
    expect(await jobs.push({ source: 'self', type: 'message', content: 'new' })).toBe(61);
    await queues.close();
    await expect(copyAll(source, there)).rejects.toMatchObject({ code: 'INVALID' });
  });

  it('go with the store, stopped in the middle of them', async () => {
    const { folder, database } = await makePlaces(TWO_PAGES);
    const [one, two] = [join(folder, 'store'), join(folder, 'copy')];
    await (await openStore(one)).close();
    cpSync(join(folder, 'queues'), join(one, 'queues'), { recursive: true });
    const url = database.address.connection;
    for (const [from, to] of [
      [one, url],
      [url, two],
    ] as const) {
      const given = new AbortController();
      const progress = (done: number, _: number, what: string): void => {
        if (what === 'queue jobs' && done === 2000) given.abort(new Error('stopped'));
      };
      const { signal } = given;
      await expect(copyStore(from, to, { signal, progress })).rejects.toThrow('stopped');
      expect(await copyStore(from, to)).toMatchObject({ queues: 1, queueEvents: 101, leftOut: [] });
    }
    const [first, last] = [one, two].map((store) => new FolderRecords(join(store, 'queues')));
    expect(await tellQueues(last!)).toEqual(await tellQueues(first!));
    await using store = await openStore(two);
    expect(await store.maintain.verify()).toMatchObject({ ok: true });
    first!.close();
    last!.close();
  });

  it('with gaps, or with what a database cannot keep, are refused before anything is written', async () => {
    const { source, database } = await makePlaces();
    const target = new PostgresRecords(database);
    const gaps = withQueueChanges(source, {
      state: async (queue) => ({ ...(await source.state(queue))!, lastId: 3000 }),
    });
    await expect(copyAll(gaps, target)).rejects.toMatchObject({ code: 'UNSUPPORTED' });
    const odd = withQueueChanges(source, {
      state: async (queue) => ({
        ...(await source.state(queue))!,
        consumers: [
          {
            consumer_id: 'odd',
            handler_cmd: 'x',
            filter: "source = '\0'",
            last_acked_id: 0,
            updated_at: null,
            failures: 0,
            failed: false,
            last_error: null,
          },
        ],
      }),
    });
    await expect(copyAll(odd, target)).rejects.toMatchObject({ code: 'UNSUPPORTED' });
    expect(await target.names()).toEqual([]);
  });

  it('would show a target that begins anew each time', async () => {
    const { source, database } = await makePlaces();
    const forgetful = (): QueueRecords => {
      const records = new PostgresRecords(database);
      return withQueueChanges(records, { names: async () => [], state: async () => undefined });
    };
    await expect(copyCutOff(source, forgetful)).rejects.toThrow('has changed meanwhile');
  });
});

async function makePlaces(events = 60): Promise<{
  readonly folder: string;
  readonly source: FolderRecords;
  readonly database: Database;
}> {
  const folder = mkdtempSync(join(tmpdir(), 'quipu-copy-'));
  await fillQueues(join(folder, 'queues'), events);
  const source = new FolderRecords(join(folder, 'queues'));
  const database = new Database(await freshDatabase(), { connections: 2 });
  onTestFinished(async () => {
    source.close();
    await database.close();
    rmSync(folder, { recursive: true });
  });
  return { folder, source, database };
}
