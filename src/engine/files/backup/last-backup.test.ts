import { expect, it } from 'vitest';
import { MemoryIo } from '../../../testing/disk/memory-io.ts';
import { StoreFiles } from '../disk/store-files.ts';
import { noteBackup, readLastBackup } from './backup-note.ts';

async function openFolder(): Promise<StoreFiles> {
  const io = new MemoryIo();
  await io.mkdir('/store');
  return new StoreFiles(io, '/store');
}

it('tells of the latest backup, also when it was asked before', async () => {
  const files = await openFolder();
  expect(await readLastBackup(files)).toBeUndefined();
  for (const at of [1_790_000_000_000, 1_790_000_000_001]) {
    await noteBackup(files, at);
    expect(await readLastBackup(files)).toEqual({ at });
  }
});

it('tells nothing of a note that it cannot read', async () => {
  const files = await openFolder();
  await files.apply([
    { kind: 'whole', path: 'last-backup.json', data: Buffer.from('{"at":"now"}') },
  ]);
  expect(await readLastBackup(files)).toBeUndefined();
});
