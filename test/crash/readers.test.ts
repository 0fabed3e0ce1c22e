import { expect, it } from 'vitest';
import { NO_TURN, toContextId } from '../../src/base/brand.ts';
import type { Batch } from '../../src/engine/batch.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { appendBatch } from '../../src/testing/engine-suite/fixture.ts';
import { openStore } from './open-store.ts';
import { slowIo } from './slow-io.ts';

/*
 * Invariant: a reader beside a writer sees a state between two commits. It never takes a group that is
 * just being written to its files for damage, and never sees a log that lost what it had.
 */

const CONTEXT = toContextId(1);
const LOG = 'logs/shared';

/** Commits move a head, and every other one a log, too; every seventh starts the log again. */
function* batches(): Generator<Batch> {
  for (let number = 0; number < 60; number += 1) {
    const logs = [{ do: 'append', name: LOG, lines: [String(number)] }] as const;
    yield { ...appendBatch(CONTEXT, `turn ${number}`), logs };
    yield appendBatch(CONTEXT, `turn ${number} and a half`);
    if (number % 7 === 6) yield { logs: [{ do: 'remove', name: LOG }] };
  }
}

/** The depths of a turn and its two nearest ancestors. */
function depthsFrom(depth: number): number[] {
  return [depth, depth - 1, depth - 2].filter((one) => one >= 0);
}

it('reads whole commits while others are written', async () => {
  const engine = await openStore(slowIo(new MemoryIo()), () => 0);
  await engine.commit({ contexts: [{ do: 'create' }] });
  let writing = true;
  let reads = 0;
  const read = async (): Promise<void> => {
    while (writing) {
      const lines = await engine.readLog(LOG, 0, 100);
      const first = Number(lines[0] ?? 0);
      expect(lines).toEqual(lines.map((_, index) => String(first + index)));
      const { rows } = await engine.listContexts({ limit: 5 });
      const [{ head, headDepth } = { head: NO_TURN, headDepth: 0 }] = rows;
      const chain = head === NO_TURN ? [] : await engine.walkBack(head, 3);
      expect(chain.map((row) => row.depth)).toEqual(depthsFrom(head === NO_TURN ? -1 : headDepth));
      await engine.getLog(LOG);
      reads += 1;
    }
  };
  const readers = [read(), read(), read()];
  const written = (async () => {
    for (const batch of batches()) await engine.commit(batch);
  })().finally(() => {
    writing = false;
  });
  await Promise.all([written, ...readers]);
  expect(reads).toBeGreaterThan(60);
  await engine.close();
});
