import * as fs from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { message, openSessions, picture } from './fixture.ts';

export function keepingSuite(target: StoreTarget): void {
  describe('collection', () => {
    it('keeps what a session anywhere refers to, and lets go with the session', async () => {
      const { store, folder } = await openSessions(target);
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
      const { store, folder } = await openSessions(target);
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
      const { engine, store, begin } = await openSessions(target);
      await (await begin()).append(picture(Buffer.alloc(4000, 1)));
      const { hash } = await store.blobs.put(Buffer.alloc(4000, 2));
      await engine.commit({ docs: [{ name: 'session-refs/x/000000', content: '["no"]' }] });
      await expect(store.maintain.gc({ graceMs: 0 })).rejects.toMatchObject({ code: 'CORRUPT' });
      expect(await store.blobs.has(hash)).toBe(true);
    });
  });

  describe('taking a session elsewhere', () => {
    it('brings file, artifacts and pictures to another store', async () => {
      const { store, folder, begin } = await openSessions(target);
      const session = await begin({ cwd: '/project' });
      const entries = [await session.append(picture(Buffer.alloc(3000, 8)))];
      await session.saveArtifact('log', 'bash');
      const out = join(folder, 'out');
      const report = await store.sessions.export(session.id, out);
      expect(report).toMatchObject({ id: session.id, blobs: 1, missing: [] });
      await expect(store.sessions.export(session.id, out)).rejects.toMatchObject({
        code: 'INVALID',
      });
      await expect(store.sessions.import(out, { folder })).rejects.toThrow(/already/);
      const { store: other } = await openSessions(target);
      const arrived = await other.sessions.import(out, { folder: join(folder, 'there') });
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
      let now = Date.parse('2026-01-01T00:00:00Z');
      const { store, begin } = await openSessions(target, { clock: () => now });
      const ids: string[] = [];
      for (let day = 0; day < 4; day++) {
        const session = await begin();
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
}
