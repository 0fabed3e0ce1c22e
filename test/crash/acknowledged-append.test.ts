import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { toContextId } from '../../src/base/brand.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { TURN_RECORDS } from '../../src/engine/files/turns/turn-table.ts';
import type { Io } from '../../src/engine/io.ts';
import { crashImages } from '../../src/testing/disk/crash-states.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { appendBatch } from '../../src/testing/engine-suite/fixture.ts';
import { mapShelves } from '../../src/testing/map-shelves.ts';
import { LIES, lyingIo } from './lying-io.ts';
import { STORE } from './open-store.ts';

/*
 * Invariant: an append is in its own files, can be read and survives any crash from the moment it is acknowledged,
 * with and without a checkpoint after it.
 */

const CONTEXT = toContextId(1);
const TEXTS = ['one', 'two '.repeat(100), 'three'];
/** It makes the pack that the others go to. */
const FIRST = 'zero';

/** What is in the store after text `index`, newest first. */
function upTo(index: number): string[] {
  return [FIRST, ...TEXTS.slice(0, index + 1)].toReversed();
}

/** As the real disk does it: a group begins when the turn of the event loop is over. */
function withTurns(io: Io): Io {
  return { ...lyingIo(io, {}), endOfTurn: () => setImmediate() };
}

/** Without a cache: every read goes to the files. */
function open(io: Io): Promise<Engine> {
  const memory = { shelves: mapShelves(), cacheBytes: 0, checkpointMs: Infinity };
  return openFilesEngine(STORE, { io: withTurns(io), clock: () => 1000, ...memory });
}

async function textsOf(engine: Engine): Promise<string[]> {
  const head = await engine.getHead(CONTEXT);
  const turns = await engine.walkBack(head?.head ?? (0n as never), 10);
  const payloads = turns.map(({ payload }) => engine.getBlob(payload as never));
  return (await Promise.all(payloads)).map((bytes) => Buffer.from(bytes ?? []).toString());
}

/** What is there after a power cut, as lists that differ; one, when it is certain. */
async function afterAnyCrash(disk: MemoryIo): Promise<string[][]> {
  const found = new Map<string, string[]>();
  for (const { disk: left } of crashImages(disk.snapshot(), 24, 1)) {
    const texts = await textsOf(await open(left));
    found.set(texts.join('|'), texts);
  }
  return [...found.values()];
}

async function start(disk: MemoryIo, wrap: (io: Io) => Io = (io) => io): Promise<Engine> {
  const engine = await open(wrap(disk));
  await engine.commit({ contexts: [{ do: 'create' }] });
  await engine.commit(appendBatch(CONTEXT, FIRST));
  return engine;
}

describe('an append alone', () => {
  it('is in its files when it is acknowledged, and read at once', async () => {
    const disk = new MemoryIo();
    const engine = await start(disk);
    const sizes = (): number => disk.contentOf(`${STORE}/${TURN_RECORDS.name}`)?.length ?? 0;
    for (const [index, text] of TEXTS.entries()) {
      const before = sizes();
      await engine.commit(appendBatch(CONTEXT, text));
      expect(sizes()).toBeGreaterThan(before);
      expect(await textsOf(engine)).toEqual(upTo(index));
    }
    await engine.close();
  });

  it('survives a power cut from the moment it is acknowledged', async () => {
    const disk = new MemoryIo();
    const engine = await start(disk);
    for (const [index, text] of TEXTS.entries()) {
      await engine.commit(appendBatch(CONTEXT, text));
      expect(await afterAnyCrash(disk)).toEqual([upTo(index)]);
    }
    await engine.close();
  });

  it('is in its files when a checkpoint says that the journal is not needed', async () => {
    const disk = new MemoryIo();
    const engine = await start(disk);
    for (const [index, text] of TEXTS.entries()) {
      await engine.commit(appendBatch(CONTEXT, text));
      await engine.checkpoint();
      expect(await afterAnyCrash(disk)).toEqual([upTo(index)]);
    }
    await engine.close();
  });

  it('would be missed if it never got to its files', async () => {
    const disk = new MemoryIo();
    const engine = await start(disk, (io) => lyingIo(io, LIES.neverApplies));
    await engine.checkpoint();
    await expect(afterAnyCrash(disk)).rejects.toThrow(/turn \d/);
  });
});
