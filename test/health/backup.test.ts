import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { backupStore } from '../../src/engine/files/backup/backup-store.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { appendLines, failure } from '../../src/testing/engine-suite/fixture.ts';
import { COPY, Life, openCopy, openLive, readCopy } from './backup-rig.ts';

describe('backup', () => {
  it('copies a store as it is, again and again', async () => {
    for (let seed = 1; seed <= 8; seed += 1) {
      const io = new MemoryIo();
      const life = await Life.start(io, seed);
      for (let round = 0; round < 4; round += 1) {
        await life.commit(10);
        await backupStore(life.writer, COPY);
        expect(await readCopy(io.copy())).toBe(life.text);
      }
      await life.engine.close();
    }
  });

  it('goes on after someone has opened the copy, which ended turns that were open', async () => {
    for (let seed = 21; seed <= 28; seed += 1) {
      const io = new MemoryIo();
      const life = await Life.start(io, seed);
      for (let round = 0; round < 4; round += 1) {
        await life.commit(10);
        await backupStore(life.writer, COPY);
        expect(await readCopy(io)).toBe(life.text);
      }
      await life.engine.close();
    }
  });

  it('shows one moment of the history when writers go on meanwhile', async () => {
    for (let seed = 41; seed <= 48; seed += 1) {
      const io = new MemoryIo();
      const life = await Life.start(io, seed);
      await life.commit(10);
      for (let round = 0; round < 3; round += 1) {
        const first = life.history.length - 1;
        const writing = life.commit(20);
        await backupStore(life.writer, COPY);
        const last = life.history.length;
        expect(life.history.slice(first, last)).toContain(await readCopy(io.copy()));
        await writing;
      }
      await life.engine.close();
    }
  });

  it('sees that a log was removed and begun again while it was copied', async () => {
    const io = new MemoryIo();
    const { writer, engine } = await openLive(io, () => 0);
    await appendLines(engine, 'logs/a', '"old"');
    const committed: Promise<unknown>[] = [];
    const beginAnew = (_done: number, _total: number, what: string): void => {
      if (what !== 'logs' || committed.length > 0) return;
      const name = 'logs/a';
      const begun = { do: 'append', name, lines: ['"new"'] } as const;
      committed.push(engine.commit({ logs: [{ do: 'remove', name }, begun] }));
    };
    await backupStore(writer, COPY, { progress: beginAnew });
    await Promise.all(committed);
    await engine.close();
    const copy = await openCopy(io);
    expect(committed).toHaveLength(1);
    expect(await copy.readLog('logs/a', 0, 10)).toEqual(['"new"']);
    await copy.close();
  });

  it('copies only the change the second time', async () => {
    const io = new MemoryIo();
    const life = await Life.start(io, 3);
    await life.commit(200);
    const first = await backupStore(life.writer, COPY);
    await life.commit(1);
    const second = await backupStore(life.writer, COPY);
    const third = await backupStore(life.writer, COPY);
    expect(second.copiedBytes).toBeLessThan(first.copiedBytes / 10);
    expect(second.reusedBytes).toBeGreaterThan(first.copiedBytes / 2);
    expect(third.copiedBytes).toBeLessThan(2000);
    await life.engine.close();
  });

  it('takes a folder out of use when one frame cannot hold the change', async () => {
    for (let seed = 61; seed <= 64; seed += 1) {
      const io = new MemoryIo();
      const life = await Life.start(io, seed);
      for (let round = 0; round < 3; round += 1) {
        await life.commit(15);
        await backupStore(life.writer, COPY, { redoBytes: 100 });
        expect(await readCopy(io.copy())).toBe(life.text);
      }
      await life.engine.close();
    }
  });

  it('keeps a folder in use while it gets packs that are larger than the frame', async () => {
    const io = new MemoryIo();
    const { writer, engine } = await openLive(io, () => 0);
    await backupStore(writer, COPY);
    const large = randomBytes(1_000_000);
    const { hash } = await engine.putBlob({
      chunks: (async function* () {
        yield large;
      })(),
    });
    const inUse: boolean[] = [];
    const look = (): void => void inUse.push(io.contentOf(`${COPY}/FORMAT`) !== undefined);
    await backupStore(writer, COPY, { progress: look, redoBytes: 100_000 });
    expect(new Set(inUse)).toEqual(new Set([true]));
    await engine.close();
    const copy = await openCopy(io);
    expect(Buffer.compare((await copy.getBlob(hash))!, large)).toBe(0);
    await copy.close();
  });

  it('takes a folder in which a run that could not begin has left its locks', async () => {
    const io = new MemoryIo();
    const { writer, engine } = await openLive(io, () => 0);
    for (const folder of [COPY, `${COPY}/journal`]) {
      await io.mkdir(folder);
      await (await io.open(`${folder}/lock.db`, 'create')).close();
    }
    expect((await backupStore(writer, COPY)).files).toBeGreaterThan(0);
    await engine.close();
  });

  it('refuses the store itself, other folders and backups of other stores', async () => {
    const io = new MemoryIo();
    const life = await Life.start(io, 5);
    await io.mkdir('/disk/other');
    await (await io.open('/disk/other/letter.txt', 'create')).close();
    for (const folder of ['/disk/diary', '/disk/diary/journal']) await io.mkdir(folder);
    await (await io.open('/disk/diary/journal/monday.txt', 'create')).close();
    const other = await openLive(io, () => 0, { path: '/disk/second', id: 'another' });
    await backupStore(other.writer, '/disk/taken');
    const before = io.paths();
    for (const to of [
      '/disk/store',
      '/disk/store/blobs',
      '/disk/store/new',
      '/disk',
      '/disk/other',
      '/disk/diary',
      '/disk/second',
      '/disk/taken',
      '/disk/other/letter.txt',
    ]) {
      await failure(backupStore(life.writer, to), 'INVALID');
    }
    expect(io.paths()).toEqual(before);
    await other.engine.close();
    await life.engine.close();
  });
});
