import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { NO_TURN, toContextId } from '../../src/base/brand.ts';
import type { Batch } from '../../src/engine/batch.ts';
import type { Io } from '../../src/engine/io.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { SeededRandom } from '../../src/testing/disk/seeded-random.ts';
import { appendBatch } from '../../src/testing/engine-suite/fixture.ts';
import { openStore } from './open-store.ts';

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

/** Every call takes a while of its own, so that they overtake each other. */
function slow(io: MemoryIo): Io {
  const random = new SeededRandom(7);
  const wait = async (): Promise<void> => {
    for (let turns = random.below(3); turns > 0; turns -= 1) await setImmediate();
  };
  return new Proxy(io, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return async (...given: unknown[]) => {
        await wait();
        const result: unknown = await Reflect.apply(value, target, given);
        return name === 'open' ? slow(result as MemoryIo) : result;
      };
    },
  });
}

it('reads whole commits while others are written', async () => {
  const engine = await openStore(slow(new MemoryIo()), () => 0);
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
