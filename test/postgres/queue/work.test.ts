import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { QueueRings, EventTable } from '../../../src/queue/postgres/tables/event-table.ts';
import { ConsumerTable, LeaseTable } from '../../../src/queue/postgres/tables/consumer-table.ts';
import { checkWork } from '../../../src/queue/events/check-input.ts';
import { Worker } from '../../../src/queue/postgres/work/worker.ts';
import type { WorkNote, WorkOptions } from '../../../src/queue/events/queue.ts';
import { failure } from '../../../src/testing/engine-suite/fixture.ts';
import { message } from '../../../src/testing/queue-suite/fixture.ts';
import { eventually } from '../../queue/rig.ts';
import { openRig } from './rig.ts';
import type { QueueRig } from './rig.ts';

const NEVER_MS = 3_600_000;

/** Works until there is nothing left, and tells what was done. */
async function workOnce({ queues }: QueueRig, options: WorkOptions = {}): Promise<string[]> {
  const notes: WorkNote[] = [];
  await queues.work({ once: true, note: (note) => notes.push(note), ...options });
  return notes.map(({ consumer, what }) => `${consumer} ${what}`);
}

interface Started {
  /** It listens, and has looked since it does. */
  readonly ready: Promise<void>;
  stop(): Promise<void>;
}

/** One that looks for itself every so often, besides being woken. */
function startWorker({ database }: QueueRig, lookMs: number): Started {
  const stop = new AbortController();
  const rings = new QueueRings(database);
  let listens = false;
  rings.listen((queue) => (listens ||= queue === undefined));
  let looked: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => (looked = resolve));
  class WatchedLeases extends LeaseTable {
    override async *due(queue?: string): ReturnType<LeaseTable['due']> {
      const isLast = listens;
      yield* super.due(queue);
      if (isLast) looked();
    }
  }
  const world = { database, rings, leases: new WatchedLeases(database), lookMs };
  const working = new Worker(world, checkWork({ signal: stop.signal })).run();
  return {
    ready,
    async stop() {
      stop.abort();
      await working;
      await rings.close();
    },
  };
}

describe('a worker', () => {
  it('runs the handlers that have something to do, and tells them what', async () => {
    const rig = await openRig();
    const handler = `echo "$QUIPU_QUEUE $QUIPU_CONSUMER $QUIPU_FENCE $MORE" >> ${rig.notes}/ran`;
    await rig.inbox.subscribe({ consumer: 'a', handler });
    await rig.inbox.subscribe({ consumer: 'b', handler, filter: "source = 'x'" });
    expect(await workOnce(rig)).toEqual([]);
    await rig.inbox.push(message('1'));
    expect(await rig.inbox.dispatch()).toEqual({
      started: [],
      skipped: [{ consumer: 'a', reason: 'left to the workers: quipu queue work' }],
    });
    expect(await workOnce(rig, { env: { MORE: 'yes' } })).toEqual(['a started', 'a ended']);
    expect(rig.noted('ran')).toEqual(['inbox a 1 yes']);
    // It acknowledged nothing: the same event is no reason to run it for ever.
    expect(await workOnce(rig)).toEqual([]);
    await rig.inbox.push(message('2', 'x'));
    expect((await workOnce(rig, { jobs: 1 })).toSorted()).toEqual(
      ['a started', 'a ended', 'b started', 'b ended'].toSorted(),
    );
    await rig.inbox.dispatch();
    expect(await workOnce(rig, { consumers: ['b'] })).toEqual(['b started', 'b ended']);
    await failure(rig.queues.work({ queues: ['none'] }), 'NOT_FOUND');
    await failure(rig.queues.work({ leaseMs: 1 }), 'INVALID');
  });

  it('tries again what failed, and gives up in the end', async () => {
    const rig = await openRig();
    const handler = `echo oops >&2; echo x >> ${rig.notes}/ran; exit 3`;
    await rig.inbox.subscribe({ consumer: 'bad', handler });
    await rig.inbox.push(message('1'));
    expect(await workOnce(rig)).toEqual(['bad started', 'bad failed']);
    // Its pause is not over.
    expect(await workOnce(rig)).toEqual([]);
    expect((await rig.inbox.info()).progress).toMatchObject([
      { state: 'idle', failures: 1, last_error: 'exit 3: oops' },
    ]);
    await rig.database.query('UPDATE quipu.queue_consumers SET failures = 9');
    await rig.inbox.dispatch();
    expect(await workOnce(rig)).toEqual(['bad started', 'bad failed']);
    expect((await rig.inbox.info()).progress).toMatchObject([{ state: 'failed', failures: 10 }]);
    expect(await workOnce(rig)).toEqual([]);
    // The next push gives it one try.
    await rig.inbox.push(message('2'));
    expect(await workOnce(rig)).toEqual(['bad started', 'bad failed']);
    expect(await workOnce(rig)).toEqual([]);
    expect(rig.noted('ran')).toHaveLength(3);
  });

  it('is woken by a push, and lets handlers end', async () => {
    const rig = await openRig();
    const hold = join(rig.notes, 'hold');
    const work = `sleep 0.1; while [ -e ${hold} ]; do sleep 0.05; done`;
    const handler = `cd ${rig.notes}; echo begun >> ran; ${work}; echo ended >> ran`;
    await rig.inbox.subscribe({ consumer: 'w', handler });
    const worker = startWorker(rig, NEVER_MS);
    await worker.ready;
    await rig.inbox.push(message('1'));
    await eventually(() => rig.noted('ran').length === 2);
    writeFileSync(hold, '');
    await rig.inbox.push(message('2'));
    await eventually(() => rig.noted('ran').length === 3);
    expect((await rig.inbox.info()).progress).toMatchObject([{ state: 'running' }]);
    const stopped = worker.stop();
    rmSync(hold);
    await stopped;
    expect(rig.noted('ran')).toEqual(['begun', 'ended', 'begun', 'ended']);
    expect((await rig.inbox.info()).progress).toMatchObject([{ state: 'idle' }]);
  });

  /** Whether a worker handles an event of which nobody told it, as after a push that was killed before it rang. */
  async function handlesSilentEvent(lookMs: number, withinMs: number): Promise<boolean> {
    const rig = await openRig();
    // Nobody is told of the consumer, either: the worker would look once more.
    const handler_cmd = `echo x >> ${rig.notes}/ran`;
    const consumer = { consumer_id: 'w', handler_cmd, filter: null };
    await new ConsumerTable(rig.database, 'inbox').subscribe(consumer);
    const worker = startWorker(rig, lookMs);
    await worker.ready;
    const silent = { source: 'self', type: 'message', subtype: null, content: '1' } as const;
    await new EventTable(rig.database, 'inbox').insert([silent]);
    const isHandled = await eventually(() => rig.noted('ran').length === 1, withinMs).then(
      () => true,
      () => false,
    );
    await worker.stop();
    return isHandled;
  }

  it('finds what nobody told it', async () => {
    expect(await handlesSilentEvent(100, 15_000)).toBe(true);
  });

  it('would miss it if it only listened', async () => {
    expect(await handlesSilentEvent(NEVER_MS, 1000)).toBe(false);
  });

  it('stops a handler whose lease was given to another', async () => {
    const rig = await openRig();
    const handler = `echo begun >> ${rig.notes}/ran; sleep 30; echo ended >> ${rig.notes}/ran`;
    await rig.inbox.subscribe({ consumer: 'w', handler });
    await rig.inbox.push(message('1'));
    const stop = new AbortController();
    const notes: string[] = [];
    const working = rig.queues.work({
      signal: stop.signal,
      leaseMs: 3000,
      note: ({ what }) => notes.push(what),
    });
    await eventually(() => rig.noted('ran').length === 1);
    stop.abort();
    await rig.database.query("UPDATE quipu.queue_consumers SET fence = fence + 1, holder = 'x'");
    await working;
    expect(notes).toEqual(['started', 'lost']);
    expect(rig.noted('ran')).toEqual(['begun']);
  });
});

describe('a fence', () => {
  /** What a worker that was away for too long makes of the progress that another has made meanwhile. */
  async function comeBackLate(
    acknowledge: (rig: QueueRig, id: number, fence: number) => Promise<unknown>,
  ): Promise<{ outcome: string; acked: number }> {
    const rig = await openRig();
    await rig.inbox.subscribe({ consumer: 'w', handler: 'true' });
    await rig.inbox.pushBatch([message('1'), message('2'), message('3')]);
    const leases = new LeaseTable(rig.database);
    const consumer = { queue: 'inbox', consumer_id: 'w' };
    const early = await leases.acquire(consumer, 'early', 60_000);
    expect(await leases.acquire(consumer, 'other', 60_000)).toBeUndefined();
    await rig.inbox.pop('w', { lastEventId: 1, fence: early!.fence });
    await rig.database.query('UPDATE quipu.queue_consumers SET expires_at = clock_timestamp()');
    const late = await leases.acquire(consumer, 'late', 60_000);
    expect(late!.fence).toBeGreaterThan(early!.fence);
    expect(await leases.renew(early!, 60_000)).toBe(false);
    await rig.inbox.pop('w', { lastEventId: 3, fence: late!.fence });
    const outcome = await acknowledge(rig, 2, early!.fence).then(
      () => 'accepted',
      (error: { code: string }) => error.code,
    );
    const { progress } = await rig.inbox.info();
    // Nobody without one gets through while there is a lease, and everybody after it.
    await failure(rig.inbox.pop('w', { lastEventId: 0 }), 'LOCKED');
    await leases.letGo(late!);
    await failure(rig.inbox.pop('w', { lastEventId: 3, fence: late!.fence }), 'LOCKED');
    await rig.inbox.pop('w', { lastEventId: 3 });
    return { outcome, acked: progress[0]!.last_acked_id };
  }

  it('keeps one who was away from undoing what another did', async () => {
    const result = await comeBackLate(({ inbox }, lastEventId, fence) =>
      inbox.pop('w', { lastEventId, fence }),
    );
    expect(result).toEqual({ outcome: 'LOCKED', acked: 3 });
  });

  it('is missed where acknowledgements go without it', async () => {
    const result = await comeBackLate(({ database }, id) =>
      database.query('UPDATE quipu.queue_consumers SET last_acked_id = $1', [id]),
    );
    expect(result).toEqual({ outcome: 'accepted', acked: 2 });
  });
});
