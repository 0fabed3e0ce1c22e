import * as fs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { message, openSessions, picture } from './fixture.ts';

export function lifeSuite(target: StoreTarget): void {
  describe('a session', () => {
    it('is there from the first moment, and comes back as it was', async () => {
      const { store, folder, begin } = await openSessions(target);
      const session = await begin({ cwd: '/some/project' });
      expect(basename(session.file!)).toMatch(
        /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_[0-9a-f-]{36}\.jsonl$/,
      );
      expect(dirname(session.file!)).toBe(join(folder, 'sessions'));
      expect(fs.statSync(session.file!).mode & 0o777).toBe(0o600);
      expect(fs.existsSync(session.file!.slice(0, -6))).toBe(false);
      const first = await session.append(message('one'));
      const second = await session.append(picture(Buffer.alloc(768)));
      expect(second.parentId).toBe(first.id);
      expect(session.leaf).toBe(second.id);
      const text = fs.readFileSync(session.file!, 'utf8');
      expect(text).toContain(
        'blob:sha256:ef115a0e0c15cdc41958ca46b5b14b456115f4baec5e3ca68599d2a8f435e3b8',
      );
      await session.close();
      const before = fs.statSync(session.file!);
      const again = await store.sessions.open(session.id);
      expect(again.leaf).toBe(second.id);
      expect((await again.load()).entries).toEqual([first, second]);
      expect((await again.last(1)).entries).toEqual([second]);
      const plain = await again.last(1, { hydrate: false });
      expect(JSON.stringify(plain.entries)).toContain('blob:sha256:');
      const after = fs.statSync(session.file!);
      expect([after.mtimeMs, after.size]).toEqual([before.mtimeMs, before.size]);
      const by = await store.sessions.open(session.file!);
      expect(by.id).toBe(session.id);
      const { items } = await store.sessions.list();
      expect(items).toMatchObject([
        { id: session.id, available: true, updatedAt: second.timestamp },
      ]);
    });

    it('is a tree', async () => {
      const { begin } = await openSessions(target);
      const session = await begin();
      const [a, b] = [await session.append(message('a')), await session.append(message('b'))];
      await session.setLeaf(a.id);
      const c = await session.append(message('c'));
      expect(c.parentId).toBe(a.id);
      expect((await session.branch()).entries).toEqual([a, c]);
      expect((await session.branch(b.id)).entries).toEqual([a, b]);
      await expect(session.branch('none')).rejects.toMatchObject({ code: 'NOT_FOUND' });
      const page = await session.last(2);
      expect(page.entries).toEqual([b, c]);
      expect((await session.last(2, { before: page.cursor! })).entries).toEqual([a]);
    });

    it('forks, moves, and goes', async () => {
      const { store, folder, begin } = await openSessions(target);
      const session = await begin();
      await session.append(picture(Buffer.alloc(2000, 7)));
      const saved = await session.saveArtifact('text', 'bash');
      expect(saved.id).toBe('0');
      const bytes = fs.readFileSync(session.file!);
      const fork = await session.fork();
      expect(fork).toMatchObject({ oldFile: session.file, artifactsCopied: true });
      expect(fs.readFileSync(session.file!)).toEqual(bytes);
      const other = await store.sessions.open(fork.id);
      expect(other.header.parentSession).toBe(session.id);
      expect((await other.load()).entries).toEqual((await session.load()).entries);
      expect((await other.saveArtifact('more', 'bash')).id).toBe('1');
      expect((await session.resolve('artifact://0')).content).toBe('text');
      expect(await session.artifacts.listIds()).toEqual(['0']);
      const inode = (path: string): number => fs.statSync(path).ino;
      expect(inode(join(other.artifacts.folder, '0.bash.log'))).toBe(inode(saved.path));

      const moved = await session.moveTo(join(folder, 'elsewhere'), { cwd: '/new' });
      expect(fs.existsSync(moved.from)).toBe(false);
      expect(session.file).toBe(moved.to);
      expect((await session.resolve('artifact://0')).content).toBe('text');
      await session.append(message('after'));
      const again = await store.sessions.open(session.id);
      expect(again.header.cwd).toBe('/new');
      expect((await again.load()).entries).toHaveLength(2);
      await store.sessions.remove(session.id);
      expect(fs.readdirSync(join(folder, 'elsewhere'))).toEqual(['.locks']);
      await expect(store.sessions.open(session.id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect((await other.load()).unresolved).toEqual([]);
    });

    it('has subagents that share its artifacts', async () => {
      const { store, begin } = await openSessions(target);
      for (const inMemory of [false, true]) {
        const session = await begin({ inMemory });
        const agentId = await session.artifacts.allocateAgent('Plan');
        const child = await store.sessions.create({ parent: session, agentId });
        expect(child.header.parentSession).toBe(session.id);
        const entry = await child.append(picture(Buffer.alloc(900, 4)));
        expect((await child.load()).entries).toEqual([entry]);
        const saves = [child, session, child].map((one, n) => one.saveArtifact(`${n}`, 'bash'));
        expect(new Set((await Promise.all(saves)).map(({ id }) => id)).size).toBe(3);
        expect(await session.artifacts.listFiles()).toContain('0-Plan.jsonl');
        expect(await session.artifacts.allocateAgent('Next')).toBe('1-Next');
        const twice = store.sessions.create({ parent: session, agentId });
        await expect(twice).rejects.toMatchObject({ code: 'EXISTS' });
        await expect(store.sessions.create({ parent: session })).rejects.toMatchObject({
          code: 'INVALID',
        });
      }
    });

    it('may leave no trace, until it is asked to', async () => {
      const { store, folder } = await openSessions(target);
      const session = await store.sessions.create({ inMemory: true });
      expect(session.file).toBeUndefined();
      const entry = await session.append(picture(Buffer.alloc(1000, 3)));
      expect((await session.saveArtifact('kept', 'bash')).id).toBe('0');
      const agent = await session.artifacts.allocateAgent('Plan');
      await session.artifacts.saveAgentOutput(agent, '{"a":[1,2]}');
      expect((await store.sessions.resolve('artifact://0')).content).toBe('kept');
      expect((await session.resolve('agent://0-Plan/a/1')).content).toBe('2');
      expect((await session.load()).entries).toEqual([entry]);
      expect(fs.readdirSync(folder)).toEqual([]);
      const kept = await session.persist({ folder });
      expect(kept.id).toBe(session.id);
      expect((await kept.load()).entries).toEqual([entry]);
      expect((await kept.resolve('artifact://0')).content).toBe('kept');
      expect((await kept.saveArtifact('next', 'bash')).id).toBe('1');
      expect(fs.readFileSync(kept.file!, 'utf8')).toContain('blob:sha256:');
    });
  });
}
