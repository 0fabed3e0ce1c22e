import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openRig } from '../postgres/queue/rig.ts';
import { runWorkers } from '../postgres/queue/workers.ts';
import { PostgresServer } from '../support/postgres/postgres-server.ts';

/**
 * Invariant: every event that was pushed is there once, with ids without a gap, and every consumer handles it, never
 * with two handlers at a time. Workers are killed at random, and the database itself is killed twice.
 */
it('loses nothing when workers and the database are killed', async () => {
  const server = await PostgresServer.start({ durable: true });
  try {
    const rig = await openRig(await server.createDatabase());
    const kills = (async () => {
      for (let kill = 0; kill < 2; kill += 1) {
        await setTimeout(5000);
        await server.kill();
        await server.start();
      }
    })();
    const load = { workers: 4, consumers: 4, events: 2000, kills: 20 };
    expect(await runWorkers(rig, load)).toEqual({ missing: [], twice: [] });
    await kills;
    const events = await rig.inbox.peek({ lastEventId: 0, limit: 10_000 });
    const wanted = Array.from({ length: load.events }, (_, number) => [number + 1, number + 1]);
    expect(events.map(({ id, content }) => [id, Number(content)])).toEqual(wanted);
  } finally {
    await server.dispose();
  }
});
