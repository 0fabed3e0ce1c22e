import * as fs from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BlobFiles } from '../../src/session/blob-files.ts';
import { openStore } from '../../src/open-store.ts';
import { message, picture, useSessionRig } from './rig.ts';

const rig = useSessionRig();

describe('collection', () => {
  it('keeps what a session anywhere refers to, and lets go with the session', async () => {
    const { store, folder } = await rig();
    const session = await store.sessions.create({ folder: join(folder, 'far/away') });
    await session.append(picture(Buffer.alloc(4000, 1)));
    const fork = await session.fork();
    await store.blobs.put(Buffer.alloc(4000, 2), { sha256: true });
    expect((await store.maintain.gc({ graceMs: 0 })).removedBlobs).toBe(1);
    await store.sessions.remove(session.id);
    expect((await store.maintain.gc({ graceMs: 0 })).removedBlobs).toBe(0);
    const kept = await store.sessions.open(fork.id);
    expect((await kept.load()).unresolved).toEqual([]);
    await kept.close();
    await store.sessions.remove(fork.id);
    await store.sessions.remove(fork.newFile).catch(() => undefined);
    expect((await store.maintain.gc({ graceMs: 0 })).removedBlobs).toBe(1);
    expect((await store.maintain.verify()).problems).toEqual([]);
  });

  it('knows a file that was brought here by hand once it was opened', async () => {
    const { store, folder } = await rig();
    const { sha256 } = await store.blobs.put(Buffer.alloc(2000, 5), { sha256: true });
    const file = join(folder, 'brought.jsonl');
    const entry = { type: 'x', id: 'a', parentId: null, image_url: `blob:sha256:${sha256}` };
    fs.writeFileSync(
      file,
      `{"type":"session","version":3,"id":"b r/o"}\n${JSON.stringify(entry)}\n`,
    );
    await (await store.sessions.open(file)).close();
    expect((await store.maintain.gc({ graceMs: 0 })).removedBlobs).toBe(0);
    const second = await store.sessions
      .open('b r/o'.replace('/', ''))
      .catch((error: unknown) => error);
    expect(second).toMatchObject({ code: 'NOT_FOUND' });
  });

  it('does nothing when it cannot know what is in use', async () => {
    const { store } = await rig();
    const session = await store.sessions.create();
    await session.append(picture(Buffer.alloc(4000, 1)));
    const { sessionRoots } = await import('../../src/session/keep/session-roots.ts');
    const { ModelEngine } = await import('../../src/testing/model-engine.ts');
    const engine = new ModelEngine({});
    await engine.commit({ docs: [{ name: 'session-refs/x/000000', content: '["no"]' }] });
    const walk = async (): Promise<void> => {
      for await (const _ of sessionRoots(engine).roots());
    };
    await expect(walk()).rejects.toMatchObject({ code: 'CORRUPT' });
  });
});

describe('taking a session elsewhere', () => {
  it('brings file, artifacts and pictures to another store', async () => {
    const { store, folder } = await rig();
    const session = await store.sessions.create({ cwd: '/project' });
    const entries = [await session.append(picture(Buffer.alloc(3000, 8)))];
    await session.saveArtifact('log', 'bash');
    const out = join(folder, 'out');
    const report = await store.sessions.export(session.id, out);
    expect(report).toMatchObject({ id: session.id, blobs: 1, missing: [] });
    await expect(store.sessions.export(session.id, out)).rejects.toMatchObject({ code: 'INVALID' });
    await expect(store.sessions.import(out)).rejects.toThrow(/already/);
    await using other = await openStore(join(folder, 'other'), { durability: 'unsafe' });
    const arrived = await other.sessions.import(out);
    expect((await arrived.load()).entries).toEqual(entries);
    expect((await arrived.resolve('artifact://0')).content).toBe('log');
    expect((await arrived.saveArtifact('x', 'y')).id).toBe('1');
    expect(await other.sessions.details(session.id)).toMatchObject({
      artifacts: ['0', '1'],
      blobs: 1,
      artifactBytes: expect.any(Number) as number,
    });
  });
});

describe('tidying', () => {
  it('removes what is old or too much when asked, and reports what is missing', async () => {
    const { folder } = await rig();
    let now = Date.parse('2026-01-01T00:00:00Z');
    await using store = await openStore(join(folder, 'timed'), {
      clock: () => now,
      durability: 'unsafe',
    });
    const ids: string[] = [];
    for (let day = 0; day < 4; day++) {
      const session = await store.sessions.create();
      await session.append(message('x'.repeat(1000)));
      ids.push(session.id);
      await session.close();
      now += 86_400_000;
    }
    expect((await store.sessions.tidy()).removed).toEqual([]);
    const dry = await store.sessions.tidy({ maxAgeMs: 3.5 * 86_400_000, dryRun: true });
    expect(dry.removed.map(({ id }) => id)).toEqual([ids[0]]);
    expect((await store.sessions.tidy({ maxAgeMs: 3.5 * 86_400_000 })).removed).toHaveLength(1);
    const { removed } = await store.sessions.tidy({ maxBytes: 2500 });
    expect(removed.map(({ id }) => id)).toEqual([ids[1], ids[2]]);
    const { file } = await store.sessions.details(ids[3]!);
    fs.rmSync(file);
    expect((await store.sessions.tidy()).missing).toEqual([{ id: ids[3], file }]);
    expect((await store.sessions.tidy({ forgetMissing: true })).forgotten).toBe(1);
    expect((await store.sessions.list()).items).toEqual([]);
  });
});

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
});
