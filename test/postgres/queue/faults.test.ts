import { setTimeout } from 'node:timers/promises';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkPostgresQueues } from '../../../src/queue/postgres/postgres-records.ts';
import { contents, message } from '../../../src/testing/queue-suite/fixture.ts';
import { eventually } from '../../queue/rig.ts';
import { CommitCutter } from '../../support/postgres/commit-cutter.ts';
import { freshSchema, openRig, type QueueRig } from './rig.ts';

/** A queue that is reached through a proxy. */
async function openCut(): Promise<{ rig: QueueRig; proxy: CommitCutter }> {
  const proxy = await CommitCutter.start(await freshSchema());
  onTestFinished(() => proxy.close());
  return { rig: await openRig(proxy.url), proxy };
}

async function pushed({ inbox }: QueueRig): Promise<string[]> {
  return contents(await inbox.peek({ lastEventId: 0 }));
}

describe('a push', () => {
  it.each(['request', 'answer'] as const)(
    'is stored once when the %s of its commit is lost',
    async (cut) => {
      const { rig, proxy } = await openCut();
      await rig.inbox.push(message('1'));
      proxy.cut(cut);
      expect(await rig.inbox.pushBatch([message('2'), message('3')])).toEqual([2, 3]);
      expect(await rig.inbox.push(message('4'))).toBe(4);
      expect(await pushed(rig)).toEqual(['1', '2', '3', '4']);
    },
  );

  it('would be stored twice by one who sends it again', async () => {
    const { rig, proxy } = await openCut();
    proxy.cut('answer');
    for (let isDone = false; !isDone;) {
      const client = new Client({ connectionString: rig.database.address.connection });
      client.on('error', () => undefined);
      await client.connect();
      await client.query(`BEGIN; SET search_path = ${rig.database.address.schema}`);
      await client.query(`WITH taken AS (UPDATE queues SET last_id = last_id + 1 RETURNING last_id)
        INSERT INTO queue_events SELECT 'inbox', last_id, '', 'self', 'message', NULL, 'x' FROM taken`);
      isDone = await client.query('COMMIT').then(
        () => true,
        () => false,
      );
      await client.end().catch(() => undefined);
    }
    expect(await pushed(rig)).toEqual(['x', 'x']);
  });
});

it('goes on when connections are cut again and again', { timeout: 60_000 }, async () => {
  const rig = await openRig();
  const handler = `echo $QUIPU_FENCE >> ${rig.notes}/ran`;
  await rig.inbox.subscribe({ consumer: 'w', handler });
  const stop = new AbortController();
  const working = rig.queues.work({ signal: stop.signal });
  const seen: string[] = [];
  const following = (async () => {
    for await (const event of rig.inbox.follow({ signal: stop.signal })) seen.push(event.content);
  })();
  const killer = new Client({ connectionString: rig.database.address.connection });
  await killer.connect();
  const cutting = (async () => {
    for (let cuts = 0; cuts < 8; cuts += 1) {
      await setTimeout(40);
      await killer.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'quipu' AND datname = current_database() AND random() < 0.7`);
    }
  })();
  const wanted = Array.from({ length: 60 }, (_, number) => String(number + 1));
  for (const content of wanted) {
    await rig.inbox.push(message(content));
    await setTimeout(3);
  }
  await cutting;
  await killer.end();
  await eventually(() => seen.length >= wanted.length, 15_000);
  expect(seen).toEqual(wanted);
  expect(await pushed(rig)).toEqual(wanted);
  const ran = rig.noted('ran').length;
  await rig.inbox.push(message('last'));
  await eventually(() => rig.noted('ran').length > ran, 15_000);
  stop.abort();
  await Promise.all([working, following]);
});

it('says which events are missing', async () => {
  const rig = await openRig();
  await rig.inbox.subscribe({ consumer: 'w', handler: 'true' });
  await rig.inbox.pushBatch(['1', '2', '3'].map((text) => message(text)));
  expect(await checkPostgresQueues(rig.database)).toEqual([]);
  await rig.database.query('DELETE FROM quipu.queue_events WHERE id = 2');
  await rig.database.query('UPDATE quipu.queue_consumers SET last_acked_id = 9');
  await rig.database.query('UPDATE quipu.queue_events SET id = 7 WHERE id = 3');
  expect(await checkPostgresQueues(rig.database)).toEqual([
    { queue: 'inbox', what: '2 events from 1 to 3 are missing' },
    { queue: 'inbox', what: '1 events come after the newest' },
    { queue: 'inbox', what: '1 consumers are past the newest event' },
  ]);
});
