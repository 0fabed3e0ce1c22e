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
    await engine.commit(log('a/b'));
    await expect(engine.commit(log('a/b/c'))).rejects.toMatchObject({ code: 'INVALID' });
    await expect(engine.commit(log('a'))).rejects.toMatchObject({ code: 'INVALID' });
    await engine.commit(log('a/c'));
    await engine.close();
  });

  it('refuses a log and a published document of one name, also within one batch', async () => {
    const engine = await open();
    await engine.commit(doc('x.json'));
    await expect(engine.commit(log('x.json'))).rejects.toMatchObject({ code: 'INVALID' });
    await expect(engine.commit({ ...log('y'), ...doc('y/z') })).rejects.toMatchObject({
      code: 'INVALID',
    });
    await engine.commit(doc('x.json'));
    expect(await engine.getLog('y')).toBeUndefined();
    await engine.close();
  });
});
