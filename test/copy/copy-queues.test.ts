import { closeSync, mkdtempSync, openSync, readSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database } from '../../src/base/sqlite.ts';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { copyStore } from '../../src/copy-store.ts';
import { FolderRecords } from '../../src/queue/upkeep/folder-records.ts';
import { createQueues } from '../../src/queue/sqlite-queue.ts';
import { openStore } from '../../src/open-store.ts';
import { failure } from '../../src/testing/engine-suite/fixture.ts';
import {
  copyAll,
  copyCutOff,
  fillQueues,
  tellQueues,
  TWO_PAGES,
  withQueueChanges,
} from './queue-rig.ts';

const EVENTS = 60;

let folder: string;
let from: FolderRecords;
let to: FolderRecords;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quipu-copy-queues-'));
  await fillQueues(join(folder, 'one'), EVENTS);
  from = new FolderRecords(join(folder, 'one'));
  to = new FolderRecords(join(folder, 'two'));
  onTestFinished(() => {
    for (const records of [from, to]) records.close();
    rmSync(folder, { recursive: true });
  });
});

async function expectEqual(): Promise<void> {
  expect(await tellQueues(to)).toEqual(await tellQueues(from));
  expect(await to.check()).toEqual([]);
}

describe('queues that are copied', () => {
  it('have the same events and consumers, and go on from there', async () => {
    expect(await copyAll(from, to)).toEqual({ queues: 3, queueEvents: EVENTS + 1 });
    await expectEqual();
    expect(await copyAll(from, to)).toEqual({ queues: 0, queueEvents: 0 });
    const [source, target] = [createQueues(join(folder, 'one')), createQueues(join(folder, 'two'))];
    const there = await (await source.open('jobs')).info();
    const jobs = await target.open('jobs');
    expect(await jobs.info()).toEqual({ ...there, thread: join(folder, 'two', 'jobs') });
    await jobs.unsubscribe('all');
    await jobs.unsubscribe('some');
    expect(await jobs.push({ source: 'self', type: 'message', content: 'new' })).toBe(EVENTS + 1);
    await source.close();
    await target.close();
  });

  it('are finished by the next copy, wherever one was cut off', async () => {
    // Five writes: events and consumers twice, and nothing at all.
    expect(await copyCutOff(from, () => new FolderRecords(join(folder, 'two')))).toBe(10);
    await expectEqual();
  });

  it('would show a copy that does not look how far it is', async () => {
    const blind = (): FolderRecords => {
      const records = new FolderRecords(join(folder, 'two'));
      const state = records.state.bind(records);
      let asked = 0;
      return Object.assign(records, {
        // As if there was nothing yet, until it is compared.
        state: async (queue: string) => ((asked += 1) % 2 === 1 ? undefined : state(queue)),
        names: async () => [],
      });
    };
    await expect(copyCutOff(from, blind)).rejects.toThrow('has changed meanwhile');
  });

  it('would show a target that keeps something else than it is given', async () => {
    const wrong = withQueueChanges(to, {
      adoptEvents: (queue, adopted) =>
        to.adoptEvents(queue, {
          ...adopted,
          events: adopted.events.map((event) =>
            event.id === 34 ? { ...event, created_at: '2026-01-01T00:00:00.000Z' } : event,
          ),
        }),
    });
    await expect(copyAll(from, wrong)).rejects.toThrow('event 34 of queue jobs');
    to.close();
    rmSync(join(folder, 'two'), { recursive: true });
    const careless = withQueueChanges(to, { adoptConsumers: async () => undefined });
    await expect(copyAll(from, careless)).rejects.toThrow('queue chat has other consumers');
  });

  it('are brought up to date when the source has moved on', async () => {
    await copyAll(from, to);
    from.close();
    const queues = createQueues(join(folder, 'one'), { wakes: false });
    const jobs = await queues.open('jobs');
    await jobs.push({ source: 'self', type: 'message', content: 'later' });
    await jobs.pop('all', { lastEventId: EVENTS + 1 });
    await jobs.unsubscribe('some');
    await queues.close();
    expect(await failure(copyAll(from, to), 'INVALID')).toMatchObject({
      message: expect.stringContaining('consumer some') as string,
    });
    await withTarget(async (target) => (await target.open('jobs')).unsubscribe('some'));
    expect(await copyAll(from, to)).toEqual({ queues: 1, queueEvents: 1 });
    await expectEqual();
  });

  it('are refused where the target has something else, and nothing is written', async () => {
    const others: ((queues: ReturnType<typeof createQueues>) => Promise<unknown>)[] = [
      (queues) => queues.open('mine'),
      async (queues) =>
        (await queues.open('chat')).push({ source: 'self', type: 'message', content: 'mine' }),
      async (queues) => (await queues.open('chat')).pop('late', { lastEventId: 1 }),
      async (queues) => (await queues.open('empty')).subscribe({ consumer: 'x', handler: 'x' }),
    ];
    for (const change of others) {
      to.close();
      rmSync(join(folder, 'two'), { recursive: true, force: true });
      await copyAll(from, to);
      to.close();
      await withTarget(change);
      const before = await tellQueues(to);
      await failure(copyAll(from, to), 'INVALID');
      expect(await tellQueues(to)).toEqual(before);
    }
  });

  it('keep the ids that were given, also where events were deleted by hand', async () => {
    const database = new Database(join(folder, 'one', 'jobs', 'events.db'));
    database.exec('DELETE FROM events WHERE id IN (5, 40, 60)');
    database.close();
    await copyCutOff(from, () => new FolderRecords(join(folder, 'two')));
    await expectEqual();
    expect(await to.state('jobs')).toMatchObject({ lastId: EVENTS, count: EVENTS - 3 });
  });
});

async function withTarget(
  work: (queues: ReturnType<typeof createQueues>) => Promise<unknown>,
): Promise<void> {
  const queues = createQueues(join(folder, 'two'), { wakes: false });
  await work(queues);
  await queues.close();
}

it('names a damaged queue, copies nothing, and goes on when it is mended', async () => {
  const [one, two] = [join(folder, 'store'), join(folder, 'copy')];
  await (await openStore(one)).close();
  await fillQueues(join(one, 'queues'), TWO_PAGES);
  const database = join(one, 'queues', 'jobs', 'events.db');
  const file = openSync(database, 'r+');
  const [at, good] = [statSync(database).size - 4096, Buffer.alloc(100)];
  readSync(file, good, 0, good.length, at);
  writeSync(file, Buffer.alloc(good.length, 0xff), 0, good.length, at);
  const error = await failure(copyStore(one, two), 'CORRUPT');
  expect(error.message).toContain('queue jobs of the source');
  const copy = new FolderRecords(join(two, 'queues'));
  expect(await copy.names()).toEqual([]);
  writeSync(file, good, 0, good.length, at);
  closeSync(file);
  expect(await copyStore(one, two)).toMatchObject({ queues: 3, queueEvents: TWO_PAGES + 1 });
});
