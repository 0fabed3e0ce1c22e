import { expect, it } from 'vitest';
import { toContextId } from '../../src/base/brand.ts';
import type { Batch } from '../../src/engine/batch.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { appendBatch } from '../../src/testing/engine-suite/fixture.ts';
import { openStore } from './open-store.ts';

/*
 * Invariant: commits take effect in the order they were sent, whatever each of them has to prepare. A
 * sender who does not wait for one before sending the next can build the next on it.
 */

const COMMITS = 32;

/** Each wants the document as the one before left it; some bring payloads to compress. */
function batchAt(number: number): Batch {
  const docs = [{ name: 'chain.json', content: String(number), expectedVersion: number }];
  const payload = 'x'.repeat((number * 997) % 5000);
  return number % 3 === 0 ? { docs } : { docs, ...appendBatch(toContextId(1), payload) };
}

it('keeps the order in which commits were sent', async () => {
  const engine = await openStore(new MemoryIo(), () => 0);
  await engine.commit({ contexts: [{ do: 'create' }] });
  const sent = Array.from({ length: COMMITS }, (_, number) => engine.commit(batchAt(number)));
  const seqs = (await Promise.all(sent)).map(({ seq }) => seq);
  expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
  expect(await engine.getDoc('chain.json')).toMatchObject({ version: COMMITS });
  await engine.close();
});
