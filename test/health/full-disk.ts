import { toContextId, toTurnId } from '../../src/base/brand.ts';
import type { ContextId } from '../../src/base/brand.ts';
import { isQuipuError } from '../../src/base/errors.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { Io } from '../../src/engine/io.ts';
import { createStore } from '../../src/store/create-store.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import {
  append,
  appendBatch,
  blobOf,
  createContext,
} from '../../src/testing/engine-suite/fixture.ts';
import { openStore } from '../crash/open-store.ts';
import { ProcessIo } from '../crash/process-io.ts';
import { readText } from '../crash/read-text.ts';
import { SmallDisk } from '../crash/small-disk.ts';
import { assertClean, collect, large } from './gc-scene.ts';

/*
 * Invariant: at whichever moment the disk becomes full,
 * - a store that was killed can be opened, and everything acknowledged can be read, before and after another kill;
 * - what makes room works: collecting, erasing and removing;
 * - everything else is done, or says DISK_FULL and has done nothing;
 * - once there is room again, so does everything, and nothing is damaged.
 */

const KEPT: ContextId = toContextId(1);
const LEFT: ContextId = toContextId(2);
/** Enough for the frames of these works, and quickly copied. */
const RESERVE_BYTES = 64 * 1024;
const REASON = { reason: 'it was a secret', everywhere: true };

export interface Work {
  readonly name: string;
  readonly run: (engine: Engine) => Promise<unknown>;
  /** It must be done however full the disk is. */
  readonly makesRoom: boolean;
}

export const WORKS: readonly Work[] = [
  { name: 'nothing', run: async () => undefined, makesRoom: true },
  { name: 'gc', run: (engine) => collect(engine), makesRoom: true },
  {
    name: 'erase',
    run: (engine) => createStore(engine).contexts.erase(toTurnId(1), REASON),
    makesRoom: true,
  },
  {
    name: 'remove',
    run: (engine) => engine.commit({ contexts: [{ do: 'remove', context: LEFT }] }),
    makesRoom: true,
  },
  { name: 'append', run: (engine) => engine.commit(appendBatch(KEPT, 'more')), makesRoom: false },
  {
    name: 'put',
    run: (engine) => engine.commit({ blobs: [blobOf(large(9))] }),
    makesRoom: false,
  },
  {
    name: 'publish',
    run: (engine) =>
      engine.commit({ docs: [{ name: 'out/a.json', content: '[2]', publish: true }] }),
    makesRoom: false,
  },
  { name: 'backup', run: (engine) => engine.upkeep.backup('/copy'), makesRoom: false },
  { name: 'reindex', run: async (engine) => engine.reindex?.(), makesRoom: true },
];

/** With something to collect, and with commits that only the journal has for certain. */
async function makeKilled(): Promise<MemoryIo> {
  const disk = new MemoryIo();
  const engine = await openStore(disk, () => 1000, undefined, RESERVE_BYTES);
  await createContext(engine);
  await createContext(engine);
  for (const text of ['a secret', 'kept', large(1)]) await append(engine, KEPT, text);
  await append(engine, LEFT, 'left');
  await engine.commit({ blobs: [blobOf(large(2))] });
  await engine.commit({ blobs: [blobOf(large(3))] });
  await engine.checkpoint();
  await append(engine, KEPT, 'the last');
  await engine.commit({ logs: [{ do: 'append', name: 'logs/a', lines: ['1', '2'] }] });
  await engine.commit({ docs: [{ name: 'out/a.json', content: '[1]', publish: true }] });
  return disk.copy();
}

type Open = (io: Io) => Promise<Engine>;

interface Life {
  readonly disk: SmallDisk;
  readonly openWith: Open;
  /** Every text that the store may show from now on. */
  readonly texts: string[];
}

/** Opens, works and is killed or closed. */
async function live(
  { disk, texts, openWith }: Life,
  work: Work,
  ending: 'kill' | 'close',
): Promise<void> {
  const process = new ProcessIo(disk);
  const engine = await openWith(process);
  await assertShows(engine, texts);
  const done = await outcomeOf(work.run(engine));
  if (done !== 'done' && work.makesRoom) throw new Error(`${work.name} could not be done`);
  if (done === 'done') texts.push(await readText(engine));
  await assertShows(engine, texts);
  if (ending === 'close') await engine.close();
  else await process.kill();
}

export function open(io: Io): Promise<Engine> {
  return openStore(io, () => 2000, undefined, RESERVE_BYTES);
}

async function outcomeOf(work: Promise<unknown>): Promise<'done' | 'full'> {
  try {
    await work;
    return 'done';
  } catch (error) {
    if (!isQuipuError(error, 'DISK_FULL')) throw error;
    return 'full';
  }
}

async function assertShows(engine: Engine, texts: readonly string[]): Promise<void> {
  if (!texts.includes(await readText(engine))) throw new Error('shows something else');
}

interface Scene {
  readonly killed: MemoryIo;
  readonly work: Work;
  readonly texts: readonly string[];
  readonly openWith: Open;
  readonly fullAt: number;
}

async function becomeFull({ killed, work, texts, openWith, fullAt }: Scene): Promise<number> {
  const disk = new SmallDisk(killed.copy(), fullAt);
  if (fullAt === 0) disk.fill();
  const life = { disk, texts: [...texts], openWith };
  await live(life, work, fullAt % 2 === 0 ? 'kill' : 'close');
  const { operations } = disk;
  // Whatever was written meanwhile, nobody gets any more room, and the store is opened anew.
  await live(life, NOTHING, 'kill');
  await live(life, GC, 'kill');
  await live(life, NOTHING, 'close');
  disk.clear();
  const engine = await open(disk);
  await assertShows(engine, life.texts);
  await engine.commit(appendBatch(KEPT, 'there is room again'));
  await assertClean(engine);
  await engine.close();
  return operations;
}

const [NOTHING, GC] = WORKS as readonly [Work, Work];

/**
 * Full before the store is opened, and at one in `step` operations of opening, working and closing. Returns how
 * many there are.
 */
export async function becomeFullAnywhere(
  work: Work,
  step: number,
  openWith: Open = open,
): Promise<number> {
  const killed = await makeKilled();
  const engine = await open(killed.copy());
  const scene = { killed, work, texts: [await readText(engine)], openWith };
  const operations = await becomeFull({ ...scene, fullAt: Infinity });
  for (let fullAt = 0; fullAt <= operations + 1; fullAt += step) {
    try {
      await becomeFull({ ...scene, fullAt });
    } catch (error) {
      throw new Error(`${String(error)}\nfull at ${fullAt} of ${operations}`, { cause: error });
    }
  }
  return operations;
}
