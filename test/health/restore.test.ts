import { describe, expect, it } from 'vitest';
import { isQuipuError } from '../../src/base/errors.ts';
import { backupStore, restoreStore } from '../../src/engine/files/backup/backup-store.ts';
import { cutFiles, type Damage, flipBytes } from '../../src/testing/disk/damage.ts';
import { exploreCrashes } from '../../src/testing/disk/explore-crashes.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { failure } from '../../src/testing/engine-suite/fixture.ts';
import { COPY, Life, openCopy, readCopy } from './backup-rig.ts';

const NEW = '/disk/deep/new';

async function makeBackup(seed: number): Promise<{ disk: MemoryIo; text: string }> {
  const disk = new MemoryIo();
  const life = await Life.start(disk, seed);
  await life.commit(40);
  await backupStore(life.writer, COPY);
  return { disk: disk.copy(), text: life.text };
}

/** Files that a restore does without: they say who has the backup open, or how it came to be. */
function isNeeded(path: string): boolean {
  return path.startsWith('disk/copy/') && !/journal\/(?:mark|[ab]\.wal)$|lock/.test(path);
}

describe('restore', () => {
  it('makes a store of a backup, which stays as it is', async () => {
    const { disk, text } = await makeBackup(71);
    const { copiedBytes } = await restoreStore(disk, COPY, NEW);
    expect(copiedBytes).toBeGreaterThan(1000);
    expect(await readCopy(disk.copy(), NEW)).toBe(text);
    expect(await readCopy(disk.copy())).toBe(text);
    const idOf = (path: string): string => String(disk.contentOf(`${path}/FORMAT`)?.length);
    expect(idOf(NEW)).toBe(idOf(COPY));
  });

  it('refuses to overwrite anything, and what is not a whole backup', async () => {
    const { disk } = await makeBackup(72);
    await disk.mkdir('/disk/used');
    await (await disk.open('/disk/used/letter.txt', 'create')).close();
    const before = disk.paths();
    for (const to of ['/disk/store', '/disk/used', '/disk/used/letter.txt', COPY, `${COPY}/in`]) {
      await failure(restoreStore(disk, COPY, to), 'INVALID');
    }
    await failure(restoreStore(disk, '/disk/store', NEW), 'INVALID');
    await failure(restoreStore(disk, '/disk/nowhere', NEW), 'NOT_FOUND');
    expect(disk.paths()).toEqual(before);
    await disk.remove(`${COPY}/FORMAT`);
    await failure(restoreStore(disk, COPY, NEW), 'INVALID');
  });

  it('refuses a damaged backup and says where, or restores it as it was', async () => {
    const { disk, text } = await makeBackup(73);
    const options = { seed: 1, only: isNeeded, perFile: 8 };
    let refused = 0;
    for (const damage of [...flipBytes(disk, options), ...cutFiles(disk, options)]) {
      refused += (await restoreDamaged(damage, text)) ? 0 : 1;
    }
    expect(refused).toBeGreaterThan(50);
  });

  it('cannot be opened before it is finished', { timeout: 120_000 }, async () => {
    const { disk, text } = await makeBackup(74);
    const { states } = await exploreCrashes<'done'>({
      seed: 1,
      statesPerPoint: 3,
      start: disk,
      run: async (running, note) => {
        await restoreStore(running, COPY, NEW);
        note('done');
      },
      check: async (left, facts) => {
        const isStore = (await left.stat(`${NEW}/FORMAT`)) !== undefined;
        if (facts.length > 0 && !isStore) throw new Error('the store is gone');
        const hasBegun = (await left.stat(`${NEW}/docs`)) !== undefined;
        const shown = isStore ? await readCopy(left, NEW) : hasBegun ? await refusal(left) : text;
        if (shown !== (isStore || !hasBegun ? text : 'INVALID')) throw new Error(`shows ${shown}`);
      },
    });
    expect(states).toBeGreaterThan(50);
  });
});

async function refusal(disk: MemoryIo): Promise<string> {
  return openCopy(disk, NEW).then(
    () => 'opens',
    (error: unknown) => (isQuipuError(error) ? error.code : String(error)),
  );
}

async function restoreDamaged({ disk, what, path }: Damage, text: string): Promise<boolean> {
  const error = await restoreStore(disk, COPY, NEW).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error === undefined) {
    const restored = await readCopy(disk, NEW);
    if (restored !== text) throw new Error(`${what}: something else was restored`);
    return true;
  }
  // A note that cannot be read says nothing of what is wrong with it.
  const says = isQuipuError(error, 'CORRUPT') && path.includes(error.data.file);
  if (!says && !path.endsWith('backup.json')) throw new Error(what, { cause: error });
  return false;
}
