import { describe, expect, it } from 'vitest';
import { openStore, STORE } from '../../../../test/crash/open-store.ts';
import { failure } from '../../../testing/engine-suite/fixture.ts';
import { MemoryIo } from '../../../testing/disk/memory-io.ts';
import type { Engine } from '../../engine.ts';
import { DOCS_FILE } from './doc-log.ts';

const NAME = 'out/threads.json';

/** An index of many entries, of which each version changes one. */
function versionOf(n: number): string {
  const entries = Array.from({ length: 100 }, (_, at) => [`entry-${at}`, at === n % 100 ? n : 0]);
  return JSON.stringify(Object.fromEntries(entries), undefined, 2);
}

async function write(engine: Engine, from: number, to: number): Promise<void> {
  for (let n = from; n < to; n += 1) {
    await engine.commit({ docs: [{ name: NAME, content: versionOf(n), publish: true }] });
    expect((await engine.getDoc(NAME))?.content).toBe(versionOf(n));
  }
}

async function makeDisk(): Promise<MemoryIo> {
  const disk = new MemoryIo();
  await disk.mkdir(STORE);
  return disk;
}

describe('a published document that changes a little', () => {
  it('takes little room, and reads the same when the store is opened again', async () => {
    const disk = await makeDisk();
    let engine = await openStore(disk, () => 0);
    await write(engine, 0, 300);
    await engine.close();
    engine = await openStore(disk.copy(), () => 0);
    expect(await engine.getDoc(NAME)).toEqual({
      name: NAME,
      version: 300,
      content: versionOf(299),
    });
    expect((await engine.upkeep.check({ repair: false })).problems).toEqual([]);
    await write(engine, 300, 320);
    const whole = versionOf(0).length;
    const bytes = disk.contentOf(`${STORE}/${DOCS_FILE}`)!.length;
    expect(bytes).toBeLessThan((300 * whole) / 4);
    // Taken away and made again, it starts whole.
    await engine.commit({ docs: [{ name: NAME, content: undefined }] });
    expect(await engine.getDoc(NAME)).toBeUndefined();
    await write(engine, 320, 323);
    await engine.close();
  });

  it('is reported and never made up when a record that it stands on is damaged', async () => {
    const disk = await makeDisk();
    const engine = await openStore(disk, () => 0);
    await write(engine, 0, 20);
    await engine.close();
    const path = `${STORE}/${DOCS_FILE}`;
    const file = await disk.open(path, 'write');
    // In the first record, which is the whole one.
    await file.write(Uint8Array.of(0x21), 200);
    await file.close();
    const damaged = await openStore(disk.copy(), () => 0);
    await failure(damaged.getDoc(NAME), 'CORRUPT');
    const { problems } = await damaged.upkeep.check({ repair: false });
    expect(problems.map(({ file: name }) => name)).toContain(DOCS_FILE);
    await damaged.close();
  });
});
