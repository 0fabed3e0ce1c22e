import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  prepareEntryForPersistence,
  prepareEntryForPersistenceSync,
  resolveBlobRefsInEntries,
  resolveBlobRefsInEntriesSync,
} from '../../src/index.ts';
import { BlobFiles } from '../../src/session/entries/blob-files.ts';
import { useSessionRig } from './rig.ts';

const rig = useSessionRig();

describe('blobs as files', () => {
  it('have the names and bytes they say', async () => {
    const { folder, store } = await rig();
    const warnings: string[] = [];
    const files = new BlobFiles(join(folder, 'files'), ({ message: text }) => warnings.push(text));
    const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
    expect((await files.put(Buffer.alloc(0))).hash).toBe(empty);
    const hash = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';
    const put = files.putSync(Buffer.from('hello'));
    expect(put).toEqual({ hash, path: join(folder, 'files', hash), ref: `blob:sha256:${hash}` });
    expect(fs.statSync(put.path).mode & 0o777).toBe(0o600);
    expect(await files.get(hash)).toEqual(Buffer.from('hello'));
    expect(await files.get('0'.repeat(64))).toBeNull();
    for (const bad of ['../x', hash.toUpperCase(), `${hash}\n`]) {
      expect(await files.get(bad)).toBeNull();
      expect(await files.has(bad)).toBe(false);
    }
    fs.writeFileSync(put.path, 'hel');
    expect(await files.get(hash)).toBeNull();
    expect(warnings).toEqual(['Blob content does not match its hash']);
    files.putSync(Buffer.from('hello'));
    expect(await files.get(hash)).toEqual(Buffer.from('hello'));
    const old = new Date(0);
    fs.utimesSync(put.path, old, old);
    await Promise.all(Array.from({ length: 50 }, () => files.put(Buffer.from('hello'))));
    expect(fs.statSync(put.path).mtimeMs).toBeGreaterThan(0);
    expect(fs.readdirSync(files.folder).toSorted()).toEqual([hash, empty].toSorted());

    const { hash: stored } = await store.blobs.put(Buffer.from('hello'));
    const path = await store.blobs.path(stored);
    expect(path).toBe(join(folder, 'store/blob-files', hash));
    expect(fs.readFileSync(path, 'utf8')).toBe('hello');
    // What someone who died left unfinished goes with a collection, once it is old enough.
    const draft = join(folder, 'store/blob-files', `.${'0'.repeat(16)}.part`);
    fs.writeFileSync(draft, 'hel');
    await store.maintain.gc();
    expect(fs.existsSync(draft)).toBe(true);
    await store.maintain.gc({ graceMs: 0 });
    expect(fs.existsSync(draft)).toBe(false);
    expect(fs.existsSync(path)).toBe(true);
    await expect(store.blobs.path('0'.repeat(64))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('hold the pictures of entries, there and back, by the names that programs know', async () => {
    const blobs = new BlobFiles(fs.mkdtempSync(join(tmpdir(), 'quipu-seed-')));
    onTestFinished(() => fs.rmSync(blobs.folder, { recursive: true }));
    const data = Buffer.alloc(900, 7).toString('base64');
    const url = `data:image/png;base64,${data}`;
    const toEntry = (): object => ({
      type: 'message',
      partialJson: '{',
      content: [{ type: 'image', data }, { image_url: { url } }],
    });
    const { partialJson: _, ...whole } = toEntry() as Record<string, unknown>;
    const given = toEntry();
    const written = [
      await prepareEntryForPersistence(given, blobs),
      prepareEntryForPersistenceSync(given, blobs),
    ];
    expect(given).toEqual(toEntry());
    expect(written[0]).toEqual(written[1]);
    expect(JSON.stringify(written)).not.toContain(data);
    expect(await resolveBlobRefsInEntries([written[0]!], blobs)).toEqual([]);
    expect(resolveBlobRefsInEntriesSync([written[1]!], blobs)).toEqual([]);
    expect(written).toEqual([whole, whole]);
    const lost = `blob:sha256:${'f'.repeat(64)}`;
    const entry = { type: 'image', data: lost };
    const said: string[] = [];
    const warn = ({ message }: { message: string }): unknown => said.push(message);
    expect(await resolveBlobRefsInEntries([entry], blobs, warn)).toEqual([lost]);
    expect(resolveBlobRefsInEntriesSync([entry], blobs, warn)).toEqual([lost]);
    expect(said).toEqual(Array(2).fill('Blob not found for image reference'));
    expect(entry.data).toBe(lost);
  });
});
