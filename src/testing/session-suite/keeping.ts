import * as fs from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sha256Hex } from '../../base/hash.ts';
import type { NewEntry } from '../../session/entries/session-entry.ts';
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

    it('keeps what any line refers to, whoever wrote it', async () => {
      const { store, folder, begin } = await openSessions(target);
      let n = 10;
      const put = async (): Promise<string> => {
        const bytes = Buffer.alloc(2000, n++);
        return (await store.blobs.put(bytes, { sha256: true })).sha256!;
      };
      const toEntry = (sha256: string): NewEntry => ({
        type: 'x',
        text: `see blob:sha256:${sha256}.`,
      });
      const kept: string[] = [];
      const keep = async (write: (sha256: string) => unknown): Promise<void> => {
        const sha256 = await put();
        await write(sha256);
        kept.push(sha256);
      };
      const session = await begin();
      const file = session.file!;
      await keep((sha256) => session.append(toEntry(sha256)));
      await keep((sha256) => fs.appendFileSync(file, `${JSON.stringify(toEntry(sha256))}\n`));
      await keep((sha256) => {
        const escaped = `\\u0062lob:sha256:${sha256.replace(/^./, (c) => `\\u00${c.charCodeAt(0).toString(16)}`)}`;
        fs.appendFileSync(file, `{"type":"x","image_url":"${escaped}"}\n`);
      });
      await keep((sha256) => session.saveArtifact(`blob:sha256:${sha256}`, 'bash'));
      const agentId = await session.artifacts.allocateAgent('Child');
      const child = await store.sessions.create({ parent: session, agentId });
      await keep((sha256) => child.append(toEntry(sha256)));
      await keep((sha256) => fs.appendFileSync(file, `{"type":"x","torn":"blob:sha256:${sha256}`));
      const brought = join(folder, 'brought.jsonl');
      fs.writeFileSync(brought, '{"type":"session","version":3,"id":"brought"}\n');
      await (await store.sessions.open(brought)).close();
      await keep((sha256) => fs.appendFileSync(brought, `${JSON.stringify(toEntry(sha256))}\n`));
      const copy = join(folder, 'copy.jsonl');
      fs.copyFileSync(brought, copy);
      await (await store.sessions.open(copy)).close();
      await keep((sha256) => fs.appendFileSync(copy, `${JSON.stringify(toEntry(sha256))}\n`));
      await keep((sha256) => begin({ header: { icon: `blob:sha256:${sha256}` } }));
      const late = Buffer.alloc(3000, n++);
      await session.append(toEntry(sha256Hex(late)));
      await store.maintain.gc({ graceMs: 0, all: true });
      kept.push((await store.blobs.put(late, { sha256: true })).sha256!);

      const unused = await put();
      for (let round = 0; round < 2; round++) {
        await store.maintain.gc({ graceMs: 0, all: true });
        for (const [at, sha256] of kept.entries()) {
          expect(await store.blobs.has(`blob:sha256:${sha256}`), `picture ${at}`).toBe(true);
        }
        expect(await store.blobs.has(`blob:sha256:${unused}`)).toBe(false);
      }
    });

    it('keeps every picture while the file of a session cannot be read', async () => {
      const { store, begin } = await openSessions(target);
      const session = await begin();
      const { sha256 } = await store.blobs.put(Buffer.alloc(2000, 1), { sha256: true });
      const { hash } = await store.blobs.put(Buffer.alloc(2000, 2));
      const line = `{"type":"x","id":"a","image_url":"blob:sha256:${sha256}"}\n`;
      fs.appendFileSync(session.file!, line);
      fs.renameSync(session.file!, `${session.file!}.away`);
      const report = await store.maintain.gc({ graceMs: 0, all: true });
      expect(report).toMatchObject({
        removedBlobs: 1,
        unread: [expect.stringContaining(session.id)],
      });
      expect(await store.blobs.has(hash)).toBe(false);
      fs.renameSync(`${session.file!}.away`, session.file!);
      expect(await store.maintain.gc({ graceMs: 0, all: true })).toMatchObject({ unread: [] });
      expect((await session.load()).unresolved).toEqual([]);
    });

    it('keeps a picture whose line is written while it looks', async () => {
      const { store, begin } = await openSessions(target);
      const session = await begin();
      const seen = new Set<string>();
      const put: string[] = [];
      for (let n = 0; n < 24; n++) {
        const { sha256 } = await store.blobs.put(Buffer.alloc(2000, 100 + n), { sha256: true });
        put.push(sha256!);
      }
      const late: string[] = [];
      const progress = (_done: number, _total: number, what = ''): void => {
        // While packs or blobs are removed, a line that is the first to name one is too late.
        if (seen.has(what) || what === 'packs' || what === 'blobs') return;
        seen.add(what);
        const sha256 = put.pop()!;
        late.push(sha256);
        fs.appendFileSync(session.file!, `{"type":"x","image_url":"blob:sha256:${sha256}"}\n`);
      };
      await store.maintain.gc({ graceMs: 0, all: true, progress });
      expect(late.length).toBeGreaterThan(0);
      for (const sha256 of late) expect(await store.blobs.has(`blob:sha256:${sha256}`)).toBe(true);
      for (const sha256 of put) expect(await store.blobs.has(`blob:sha256:${sha256}`)).toBe(false);
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
      await expect(store.sessions.import(out, { folder })).rejects.toMatchObject({
        code: 'EXISTS',
        data: { what: 'session', id: session.id },
      });
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
