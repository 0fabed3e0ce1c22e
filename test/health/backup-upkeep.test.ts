import { describe, expect, it } from 'vitest';
import { hashBytes } from '../../src/base/hash.ts';
import { backupStore } from '../../src/engine/files/backup/backup-store.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { append, createContext, failure } from '../../src/testing/engine-suite/fixture.ts';
import { COPY, openCopy, openLive } from './backup-rig.ts';
import { buildSample, openSample, readEverything } from './sample-store.ts';

// Erasing and collecting change packs that a backup has copied before.

const COPY_OF_SAMPLE = '/data/copy';
const SECRET = new TextEncoder().encode('a secret that nobody may find any more');

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function findBytes(disk: MemoryIo, folder: string, wanted: Uint8Array): string[] {
  return disk.paths().filter((path) => {
    const content = disk.contentOf(`/${path}`);
    if (content === undefined || !`/${path}`.startsWith(folder)) return false;
    const bytes = Buffer.alloc(content.length);
    content.read(bytes, 0);
    return bytes.includes(Buffer.from(wanted));
  });
}

/** Opening ends the streamed turn, and the two are opened by different clocks. */
function withoutTimes(answer: string | undefined): string | undefined {
  return answer?.replace(/"updatedAt":\d+/g, '');
}

/** Takes away every blob but these. */
async function collect(engine: Engine, kept: ReadonlySet<string>): Promise<number> {
  const reliance = { blob: () => undefined, turn: () => undefined };
  const collection = await engine.upkeep.startCollection({ graceMs: 0, reliance });
  const isLive = (hash: string): boolean => kept.has(hash);
  const report = await collection.sweep({ isLive, isLiveTurn: () => true, deadShare: 0 });
  await collection.end();
  return report.removedBlobs;
}

describe('a backup after upkeep', () => {
  it('does not hold what was erased, and neither does the earlier one that it goes over', async () => {
    const disk = new MemoryIo();
    let now = 1000;
    const { writer, engine } = await openLive(disk, () => now);
    const { id } = await createContext(engine);
    await append(engine, id, 'before it');
    const { hash } = await engine.putBlob({ chunks: once(SECRET) });
    await append(engine, id, 'after it');
    await backupStore(writer, COPY);
    expect(findBytes(disk, COPY, SECRET)).toHaveLength(1);

    now += 1000;
    await engine.upkeep.eraseBlob(hash);
    const { copiedBytes } = await backupStore(writer, COPY);
    expect(copiedBytes).toBeLessThan(500);
    expect(findBytes(disk, COPY, SECRET)).toEqual([]);
    await append(engine, id, 'and on it goes');
    await backupStore(writer, COPY);

    const copy = await openCopy(disk.copy());
    expect(await copy.getBlob(hash)).toBeUndefined();
    expect((await copy.stats()).damage).toEqual([]);
    for (const text of ['before it', 'after it', 'and on it goes']) {
      const bytes = new TextEncoder().encode(text);
      expect(await copy.getBlob(hashBytes(bytes))).toEqual(bytes);
    }
    await copy.close();
    await engine.close();
  });

  it('drops the packs that a collection has dropped', async () => {
    const disk = new MemoryIo();
    let now = 1000;
    const { writer, engine } = await openLive(disk, () => now);
    const { id } = await createContext(engine);
    const turn = await append(engine, id, 'kept');
    await engine.putBlob({ chunks: once(SECRET) });
    await engine.checkpoint();
    await backupStore(writer, COPY);
    const before = disk.paths().filter((path) => path.endsWith('.pack'));

    now += 3_600_000;
    await engine.checkpoint();
    expect(await collect(engine, new Set([String(turn.payload)]))).toBe(1);
    await backupStore(writer, COPY);
    const packsIn = (folder: string): string[] =>
      disk.paths().filter((path) => path.startsWith(folder) && path.endsWith('.pack'));
    expect(packsIn('disk/copy/').map((path) => path.slice(9))).toEqual(
      packsIn('disk/store/').map((path) => path.slice(10)),
    );
    expect(disk.paths()).not.toEqual(expect.arrayContaining(before));

    const copy = await openCopy(disk.copy());
    expect(await copy.hasBlob(hashBytes(SECRET))).toBe(false);
    expect((await copy.getTurn(turn.id))?.payload).toBe(turn.payload);
    expect(await copy.getBlob(hashBytes(new TextEncoder().encode('kept')))).toBeDefined();
    await copy.close();
    await engine.close();
  });

  it('has closed packs, packs of large blobs and whatever else a store can hold', async () => {
    const { disk, engine } = await buildSample();
    const first = await engine.upkeep.backup(COPY_OF_SAMPLE);
    const second = await engine.upkeep.backup(COPY_OF_SAMPLE);
    expect(first.copiedBytes).toBeGreaterThan(400_000);
    expect(second.copiedBytes).toBe(0);
    // Killed, so that both are opened in the same way.
    const left = disk.copy();
    const { engine: store } = await openSample(left);
    const copy = await openCopy(left, COPY_OF_SAMPLE);
    const [shown, copied] = [await readEverything(store), await readEverything(copy)];
    expect([...copied.keys()]).toEqual([...shown.keys()]);
    for (const [name, answer] of shown) {
      expect(withoutTimes(copied.get(name)), name).toBe(withoutTimes(answer));
    }
    await copy.close();
    await store.close();
    await engine.close();
  });

  it('does not run beside other upkeep', async () => {
    const disk = new MemoryIo();
    const { writer, engine } = await openLive(disk, () => 0);
    const reliance = { blob: () => undefined, turn: () => undefined };
    const collection = await engine.upkeep.startCollection({ graceMs: 0, reliance });
    await failure(backupStore(writer, COPY), 'LOCKED');
    await collection.end();
    expect((await backupStore(writer, COPY)).files).toBeGreaterThan(0);
    await engine.close();
  });
});
