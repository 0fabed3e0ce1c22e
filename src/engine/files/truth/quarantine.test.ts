import { describe, expect, it } from 'vitest';
import { MemoryIo } from '../../../testing/disk/memory-io.ts';
import { StoreFiles } from '../disk/store-files.ts';
import type { Found } from './check.ts';
import { Quarantine } from './quarantine.ts';

const FOUND: Found = { what: 'damaged', file: 'a/b', offset: 2, severity: 'lost', length: 3 };

async function filesWith(text: string): Promise<StoreFiles> {
  const io = new MemoryIo();
  await io.mkdir('/s');
  await io.mkdir('/s/a');
  const file = await io.open('/s/a/b', 'create');
  await file.write(Buffer.from(text), 0);
  return new StoreFiles(io, '/s');
}

async function textOf(files: StoreFiles, name: string): Promise<string> {
  return Buffer.from(await files.read(name, 0, 10_000)).toString();
}

describe('the quarantine', () => {
  it('copies the damaged bytes and remembers them', async () => {
    const files = await filesWith('0123456789');
    const quarantine = await Quarantine.load(files);
    expect(quarantine.has(FOUND)).toBe(false);
    await quarantine.setAside([FOUND], 0);
    expect(quarantine.has(FOUND)).toBe(true);
    expect(await textOf(files, 'quarantine/a-b-2.bin')).toBe('234');
    expect(await textOf(files, 'a/b')).toBe('0123456789');
    const later = await Quarantine.load(files);
    expect(later.copies).toEqual(['quarantine/a-b-2.bin']);
    expect(later.has(FOUND)).toBe(true);
    expect(later.has({ ...FOUND, offset: 3 })).toBe(false);
    expect(later.has({ ...FOUND, severity: 'stale' })).toBe(false);
  });

  it('lists a problem without bytes, and makes no copy', async () => {
    const files = await filesWith('01');
    const quarantine = await Quarantine.load(files);
    await quarantine.setAside([{ ...FOUND, length: 0 }], 0);
    expect(quarantine.copies).toEqual([]);
    expect((await Quarantine.load(files)).has(FOUND)).toBe(true);
  });

  it('goes on after a line that a crash cut short', async () => {
    const files = await filesWith('0123456789');
    const quarantine = await Quarantine.load(files);
    await quarantine.setAside([FOUND], 0);
    const list = await files.io.open('/s/quarantine/list.jsonl', 'write');
    await list.write(Buffer.from('{"what":"da'), await list.size());
    const other = { ...FOUND, offset: 7 };
    await (await Quarantine.load(files)).setAside([other], 0);
    const later = await Quarantine.load(files);
    expect([later.has(FOUND), later.has(other)]).toEqual([true, true]);
  });

  it('forgets the bytes of what is erased, and nothing else', async () => {
    const files = await filesWith('0123456789');
    const quarantine = await Quarantine.load(files);
    const known = { ...FOUND, offset: 5, id: 'known' };
    await quarantine.setAside([FOUND, known, { ...FOUND, offset: 8, length: 2 }], 0);
    const later = await Quarantine.load(files);
    await later.erase('nobody', [
      { file: 'a/b', offset: 0, length: 2 },
      { file: 'other', offset: 2, length: 3 },
    ]);
    expect(await textOf(files, 'quarantine/a-b-2.bin')).toBe('234');
    await later.erase('known', [{ file: 'a/b', offset: 4, length: 1 }]);
    expect(await textOf(files, 'quarantine/a-b-2.bin')).toBe('\0\0\0');
    expect(await textOf(files, 'quarantine/a-b-5.bin')).toBe('\0\0\0');
    expect(await textOf(files, 'quarantine/a-b-8.bin')).toBe('89');
    expect(later.has(known)).toBe(true);
  });

  it('overwrites no file that a forged list calls a copy', async () => {
    const files = await filesWith('0123456789');
    await files.io.mkdir('/s/quarantine');
    const forged = { ...FOUND, id: 'gone', when: '' };
    const names = ['a/b', '../s/a/b', 'quarantine/../a/b', 7, { length: 1 }];
    const lines = [...names.map((copy) => ({ ...forged, copy })), null, 5, [], { copy: 'a/b' }];
    const list = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    await files.replace('quarantine/list.jsonl', [Buffer.from(list)]);
    const quarantine = await Quarantine.load(files);
    expect(quarantine.copies).toEqual([]);
    await quarantine.erase('gone', [FOUND]);
    expect(await textOf(files, 'a/b')).toBe('0123456789');
  });
});
