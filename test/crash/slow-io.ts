import { setImmediate } from 'node:timers/promises';
import type { Io } from '../../src/engine/io.ts';
import type { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { SeededRandom } from '../../src/testing/disk/seeded-random.ts';

/** Every call takes a while of its own, so that they overtake each other. */
export function slowIo(io: MemoryIo): Io {
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
        return name === 'open' ? slowIo(result as MemoryIo) : result;
      };
    },
  });
}
