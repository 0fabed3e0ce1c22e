import { isQuipuError } from '../../src/base/errors.ts';
import type { Io } from '../../src/engine/io.ts';
import type { Damage } from '../../src/testing/disk/damage.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { openStore } from './open-store.ts';
import { CHECK_TIME } from './oracle.ts';
import { askEverything, fillEarly, fillLate } from './small-store.ts';

/** All that follows the checkpoint stays in the journal. */
const SEGMENT_BYTES = 64 * 1024;

export interface SmallStore {
  readonly disk: MemoryIo;
  /** The same disk some commits before. */
  readonly earlier: MemoryIo;
  readonly answers: readonly (string | undefined)[];
  readonly wrap: (io: Io) => Io;
}

/** `wrap` is what stands between the engine and its disk. */
export async function makeSmallStore(
  how: 'closed' | 'killed',
  wrap: (io: Io) => Io = (io) => io,
): Promise<SmallStore> {
  const io = new MemoryIo();
  let now = 1000;
  const engine = await openStore(wrap(io), () => (now += 10), SEGMENT_BYTES);
  await fillEarly(engine);
  await engine.checkpoint();
  const earlier = io.copy();
  await fillLate(engine, how === 'killed');
  if (how === 'closed') await engine.close();
  const disk = io.copy();
  const whole = await openStore(wrap(disk.copy()), () => CHECK_TIME);
  return { disk, earlier, answers: await askEverything(whole), wrap };
}

type Outcome = 'unchanged' | 'detected';

/** Throws when the damaged store gives an answer that the whole one did not give. */
async function meet(store: SmallStore, damage: Damage): Promise<Outcome> {
  try {
    const engine = await openStore(store.wrap(damage.disk), () => CHECK_TIME);
    const found = await askEverything(engine, damage.path.includes('/blobs/'));
    let outcome: Outcome = 'unchanged';
    for (const [index, answer] of found.entries()) {
      if (answer === undefined) outcome = 'detected';
      else if (answer !== store.answers[index]) {
        throw new Error(`answers ${answer}\nand was ${store.answers[index]}`);
      }
    }
    return outcome;
  } catch (error) {
    const codes = ['CORRUPT', 'UNSUPPORTED', 'INVALID'] as const;
    if (codes.some((code) => isQuipuError(error, code))) return 'detected';
    throw new Error(`${damage.what}\n${String(error)}`, { cause: error });
  }
}

export async function meetAll(
  store: SmallStore,
  damages: Iterable<Damage>,
): Promise<Record<Outcome, number>> {
  const count = { unchanged: 0, detected: 0 };
  for (const damage of damages) count[await meet(store, damage)] += 1;
  return count;
}

/** Frames start at pages, and these are short: every `step`th byte of what is not padding. */
export function* startsOfPages(damages: Iterable<Damage>, step: number): Generator<Damage> {
  for (const damage of damages) {
    const inPage = damage.offset % 4096;
    if (inPage < 180 && inPage % step === 0) yield damage;
  }
}
