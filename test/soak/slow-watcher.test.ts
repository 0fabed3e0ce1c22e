import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import { RestartableServer } from '../support/restartable-server.ts';

// A watcher that takes nothing while eight writers write costs the server and its own process a page and a
// few ids, is told how far behind it is, and then gets every turn once and in order.

const WRITERS = 8;
const BATCHES = 25;
const BATCH_TURNS = 1000;
const TURNS = WRITERS * BATCHES * BATCH_TURNS;
/** Both sides are this process. */
const HEAP_BYTES_MAX = 64e6;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

it('bounds what a watcher costs that does not keep up', async () => {
  const server = await RestartableServer.start();
  onTestFinished(() => server.dispose());
  const client = await openStore(`quipu://127.0.0.1:${server.port}`);
  onTestFinished(() => client.close());
  const aborter = new AbortController();
  const { signal } = aborter;
  const events = client.watch({ kinds: ['turn.appended'] }, { signal })[Symbol.asyncIterator]();
  expect(await events.next()).toMatchObject({ value: { kind: 'started' } });

  const turns = Array.from({ length: BATCH_TURNS }, () => ({ type: 'note', payload: 'x' }));
  const write = async (): Promise<void> => {
    const { id } = await server.store.contexts.create();
    for (let n = 0; n < BATCHES; n += 1) await server.store.contexts.appendBatch(id, turns);
  };
  const before = heapBytes();
  const first = events.next();
  await Promise.all(Array.from({ length: WRITERS }, write));
  expect(heapBytes() - before).toBeLessThan(HEAP_BYTES_MAX);

  let [told, behind] = [0, 0];
  const held: unknown[] = [];
  for (let next = await first; ; next = await events.next()) {
    if (next.done === true) break;
    if (next.value.kind === 'behind') behind = Math.max(behind, next.value.events);
    if (next.value.kind !== 'turn.appended') continue;
    told += 1;
    held.push(next.value);
    if (next.value.turn.id !== BigInt(told)) break;
    if (told === TURNS) break;
  }
  aborter.abort();
  expect(told).toBe(TURNS);
  expect(behind).toBeGreaterThan(TURNS / 2);
  // One that had queued them would have been caught.
  expect(heapBytes() - before).toBeGreaterThan(HEAP_BYTES_MAX);
  expect(held).toHaveLength(TURNS);
});
