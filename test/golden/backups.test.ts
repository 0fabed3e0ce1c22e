import { readFileSync } from 'node:fs';
import { inflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { backupStore, restoreStore } from '../../src/engine/files/backup/backup-store.ts';
import { FOLDERS } from '../../src/engine/files/core/truths.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { failure } from '../../src/testing/engine-suite/fixture.ts';
import { CHECK_TIME } from '../crash/oracle.ts';
import { COPY, openLive, readCopy, STORE } from '../health/backup-rig.ts';

/*
 * Invariant: backups of an earlier version are continued and restored, also those whose last run was interrupted.
 * Method: `backups.json` holds a store and five folders as an earlier version left them: each file deflated, by its
 * name, with what the store knew of the folder. The notes there name the state that a run is about to make.
 */

type Files = Readonly<Record<string, string>>;

interface Golden {
  readonly store: Files;
  readonly folders: Readonly<Record<'whole' | 'planned' | 'about to change' | 'arrived', Files>> & {
    readonly unfinished: Files;
  };
  /** What the store showed at the first backup, and what it shows now. */
  readonly before: string;
  readonly after: string;
}

const GOLDEN = JSON.parse(readFileSync('test/golden/backups.json', 'utf8')) as Golden;

async function diskWith(folder: Files): Promise<MemoryIo> {
  const files = new Map<string, Uint8Array>();
  for (const [path, text] of Object.entries({ ...GOLDEN.store, ...folder })) {
    files.set(`/disk/${path}`, inflateRawSync(Buffer.from(text, 'base64')));
  }
  const disk = MemoryIo.from(files);
  // Folders without files are not in the list.
  for (const root of [STORE, COPY]) for (const name of FOLDERS) await disk.mkdir(`${root}/${name}`);
  return disk;
}

describe.each(Object.entries(GOLDEN.folders))('an earlier backup: %s', (name, folder) => {
  it('is continued', async () => {
    const disk = await diskWith(folder);
    const { writer, engine } = await openLive(disk, () => CHECK_TIME);
    await backupStore(writer, COPY);
    await engine.close();
    expect(await readCopy(disk)).toBe(GOLDEN.after);
  });

  it('is restored, unless it is unfinished', async () => {
    const disk = await diskWith(folder);
    if (name === 'unfinished') {
      await failure(restoreStore(disk, COPY, '/disk/new'), 'INVALID');
      return;
    }
    await restoreStore(disk, COPY, '/disk/new');
    const isNew = name === 'about to change' || name === 'arrived';
    expect(await readCopy(disk, '/disk/new')).toBe(isNew ? GOLDEN.after : GOLDEN.before);
  });
});
