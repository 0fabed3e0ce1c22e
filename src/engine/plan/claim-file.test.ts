import { describe, expect, it } from 'vitest';
import type { Engine } from '../engine.ts';
import { MemoryIo } from '../../testing/disk/memory-io.ts';
import { MapShelf } from '../../testing/map-shelf.ts';
import { openFilesEngine } from '../files/open-files-engine.ts';

async function open(): Promise<Engine> {
  const shelf = (): MapShelf => new MapShelf();
  const shelves = { open: shelf, create: shelf, install: (fresh: MapShelf) => fresh };
  return openFilesEngine('/store', {
    io: new MemoryIo(),
    shelves: shelves as never,
    checkpointMs: Infinity,
  });
}

const log = (name: string) => ({ logs: [{ do: 'append', name, lines: ['1'] }] }) as const;
const doc = (name: string) => ({ docs: [{ name, content: '{}', publish: true }] }) as const;

describe('names that are also files', () => {
  it('refuses a name below a log, and a log above a name', async () => {
    const engine = await open();
    await engine.commit(log('logs/b'));
    await expect(engine.commit(log('logs/b/c'))).rejects.toMatchObject({ code: 'INVALID' });
    await expect(engine.commit(log('logs'))).rejects.toMatchObject({ code: 'INVALID' });
    await engine.commit(log('logs/c'));
    await engine.close();
  });

  it('refuses a log and a published document of one name, also within one batch', async () => {
    const engine = await open();
    await engine.commit(doc('out/x.json'));
    await expect(engine.commit(log('out/x.json'))).rejects.toMatchObject({ code: 'INVALID' });
    await expect(engine.commit({ ...log('logs/y'), ...doc('logs/y/z') })).rejects.toMatchObject({
      code: 'INVALID',
    });
    await engine.commit(doc('out/x.json'));
    expect(await engine.getLog('logs/y')).toBeUndefined();
    await engine.close();
  });

  it('loses no log to the replacement of a published document, whatever it is called', async () => {
    const engine = await open();
    const names = ['.new', '-new', '.part'].map((end) => `out/x.json${end}`);
    for (const name of names) await engine.commit(log(name));
    await engine.commit(doc('out/x.json'));
    for (const name of names) expect(await engine.readLog(name, 0, 10)).toEqual(['1']);
    await engine.close();
  });
});
