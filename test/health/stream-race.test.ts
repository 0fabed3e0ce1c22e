import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type Hash, toContextId } from '../../src/base/brand.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { BlobPlace, ShelfSource } from '../../src/engine/files/index/shelf.ts';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import type { Io } from '../../src/engine/io.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { MapShelf } from '../../src/testing/map-shelf.ts';
import { append, blobOf, createContext } from '../../src/testing/engine-suite/fixture.ts';
import { lyingIo } from '../crash/lying-io.ts';
import { STORE } from '../crash/open-store.ts';
import { collect, large } from './gc-scene.ts';

/** Long enough that whoever reads meanwhile meets the file that is gone. */
const TURNS = 50;

/** Calls back when a pack is gone and nobody knows it yet: the frame that says so is not marked. */
function tellingOfRemovals(io: MemoryIo, onRemoved: () => void): Io {
  let removed = false;
  const lying = lyingIo(io, {
    async write(file, path, { bytes, position }) {
      if (removed && path.endsWith('/mark')) {
        removed = false;
        onRemoved();
        for (let turn = 0; turn < TURNS; turn += 1) await setImmediate();
      }
      return file.write(bytes, position);
    },
  });
  return {
    ...lying,
    async remove(path) {
      await io.remove(path);
      removed ||= path.endsWith('.pack');
    },
  };
}

/** Of a blob that was copied it finds the old place until that is gone, as a real index mostly does. */
class OldestFirst extends MapShelf {
  override findBlob(hash: Hash): BlobPlace | undefined {
    return [...this.walkBlobs()].find((place) => place.hash === hash);
  }
}

const OLDEST_FIRST: ShelfSource = {
  open: () => new OldestFirst(),
  create: () => new OldestFirst(),
  install: (fresh) => fresh,
};

async function readAll(engine: Engine, text: string): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of engine.readBlob(blobOf(text).hash)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

it('readers go on while a collection takes away what they read from', async () => {
  const text = large(1);
  const read: Promise<string>[] = [];
  const whole: Promise<Uint8Array | undefined>[] = [];
  const io = tellingOfRemovals(new MemoryIo(), () => {
    read.push(readAll(engine, text));
    whole.push(engine.getBlob(blobOf(text).hash));
  });
  const engine = await openFilesEngine(STORE, { io, shelves: OLDEST_FIRST });
  await createContext(engine);
  await append(engine, toContextId(1), text);
  // In the same pack, so that it is rewritten.
  await engine.commit({ blobs: [blobOf(large(2))] });
  expect((await collect(engine)).freedBytes).toBeGreaterThan(100_000);
  expect(read.length).toBeGreaterThan(0);
  for (const found of await Promise.all(read)) expect(found === text).toBe(true);
  for (const found of await Promise.all(whole)) expect(found?.length).toBe(text.length);
  await engine.close();
});
