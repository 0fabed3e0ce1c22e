import { existsSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Engine } from '../../src/engine/engine.ts';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { writeOwnerNote } from '../../src/engine/files/disk/owner-note.ts';
import { OwnedStore } from '../../src/host/owned-store.ts';
import { openStore } from '../../src/open-store.ts';
import { undisturbed } from '../support/undisturbed.ts';
import { newFolder } from './host-rig.ts';

/*
 * Invariant: any number of processes may open a folder. Those who wait leave the owner alone: each asks it once, and
 * looks for it less and less often while it is not to be found. Nobody becomes a second owner, whatever is deleted.
 * (test/soak/many-processes.test.ts does it with fifty processes.)
 */

let folder: string;
beforeEach(() => {
  folder = newFolder();
});

async function own(): Promise<Engine> {
  const engine = await openFilesEngine(folder, { shares: true });
  onTestFinished(() => engine.close());
  return engine;
}

describe('those who wait for an owner', () => {
  it('ask one that is busy once', async () => {
    await own();
    let asked = 0;
    const silent = createServer(() => (asked += 1)).listen(join(folder, 'quipu.sock'));
    onTestFinished(() => void silent.close());
    await expect(openStore(folder, { waitMs: 3000 })).rejects.toMatchObject({ code: 'LOCKED' });
    expect(asked).toBe(1);
  });

  it('look less and less often for one that does not listen yet', async () => {
    await own();
    const tries = vi.spyOn(OwnedStore, 'open');
    onTestFinished(() => tries.mockRestore());
    await expect(openStore(folder, { waitMs: 2500 })).rejects.toMatchObject({ code: 'LOCKED' });
    expect(tries.mock.calls.length).toBeLessThan(14);
  });
});

it(
  'waits anew for each owner: where they come and go, all get their turn',
  undisturbed(200, async () => {
    folder = newFolder();
    const engine = await own();
    const opening = openStore(folder, { waitMs: 2000 });
    opening.catch(() => undefined);
    await sleep(1500);
    // As one does that takes over, between two looks of the one that waits.
    writeOwnerNote(folder, { shares: true });
    await sleep(1500);
    await engine.close();
    const store = await opening;
    expect(await store.contexts.list()).toEqual({ items: [] });
    await store.close();
  }),
);

describe('a lock that is deleted under its owner', () => {
  const LOCKS = ['lock.db', 'journal/lock.db'];

  it.each(LOCKS)('lets no second owner in: %s', async (name) => {
    const owner = await own();
    rmSync(join(folder, name));
    await expect(own()).rejects.toMatchObject({ code: 'LOCKED' });
    await expect(own()).rejects.toMatchObject({ code: 'LOCKED' });
    await owner.commit({ contexts: [{ do: 'create' }] });
    await owner.close();
    const next = await own();
    expect((await next.listContexts({ limit: 9 })).rows).toHaveLength(1);
  });

  it('is noticed by those who share: they still meet the owner', async () => {
    await using owner = await openStore(folder);
    const { id } = await owner.contexts.create();
    rmSync(join(folder, 'lock.db'));
    await using other = await openStore(folder);
    await other.contexts.append(id, { type: 'note', payload: 'from the other' });
    expect((await owner.contexts.last(id, 9)).turns).toHaveLength(1);
  });

  it('would let one in if there were no other lock', async () => {
    await own();
    for (const name of LOCKS) rmSync(join(folder, name));
    await own();
    expect(existsSync(join(folder, 'lock.db'))).toBe(true);
  });
});
