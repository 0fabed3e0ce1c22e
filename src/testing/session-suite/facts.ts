import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openBeside } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { openSessions, picture } from './fixture.ts';

export function factsSuite(target: StoreTarget): void {
  describe('addresses', () => {
    it('lead to the session that asks first, then to those that were opened before others', async () => {
      const { store } = await openSessions(target);
      const { sessions } = store;
      const [first, second] = [
        await sessions.create({ inMemory: true }),
        await sessions.create({ inMemory: true }),
      ];
      await first.saveArtifact('first', 'bash');
      await second.saveArtifact('second', 'bash');
      await second.saveArtifact('only here', 'bash');
      expect((await sessions.resolve('artifact://0')).content).toBe('first');
      expect((await second.resolve('artifact://0')).content).toBe('second');
      expect((await first.resolve('artifact://1')).content).toBe('only here');
      await first.close();
      expect((await sessions.resolve('artifact://0')).content).toBe('second');
    });

    it('follow no link out of the folder', async () => {
      const { folder, begin } = await openSessions(target);
      const session = await begin();
      const { path } = await session.saveArtifact('text', 'bash');
      fs.writeFileSync(join(folder, 'secret'), 'secret');
      for (const name of ['5.bash.log', '0-Link.md']) {
        fs.symlinkSync(join(folder, 'secret'), join(dirname(path), name));
      }
      await expect(session.resolve('artifact://5')).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await expect(session.resolve('agent://0-Link')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });
  });

  describe('files of a session', () => {
    it('are for their owner alone, and pictures never come back into them', async () => {
      const { begin } = await openSessions(target);
      const session = await begin();
      const data = Buffer.alloc(3000, 7);
      await session.append(picture(data));
      const { path } = await session.saveArtifact('text', 'bash');
      expect((await session.load()).entries).toHaveLength(1);
      const { newFile } = await session.fork();
      const entry = (await session.last(1)).entries[0]!;
      const { newFile: branch } = await session.fork({ at: entry.id });
      for (const file of [session.file!, newFile, branch, path]) {
        expect(fs.statSync(file).mode & 0o777).toBe(0o600);
        expect(fs.statSync(dirname(file)).mode & 0o777).toBe(0o700);
        expect(fs.readFileSync(file, 'utf8')).not.toContain(data.toString('base64'));
      }
    });

    it('are numbered from 0 in a fork that brings no artifacts', async () => {
      const { begin, store } = await openSessions(target);
      const { sessions } = store;
      const session = await begin();
      const bare = await session.fork();
      expect(bare.artifactsCopied).toBe(false);
      await session.saveArtifact('text', 'bash');
      const without = await session.fork({ artifacts: false });
      expect(without.artifactsCopied).toBe(false);
      for (const { id } of [bare, without]) {
        const fork = await sessions.open(id);
        expect((await fork.saveArtifact('own', 'bash')).id).toBe('0');
      }
    });
  });

  describe('an artifact of ten gigabytes', () => {
    it('is read in parts alone, and neither forked nor moved by copying', async () => {
      const { store, folder, begin } = await openSessions(target);
      const session = await begin();
      const { path } = await session.saveArtifact('first line\n', 'bash');
      fs.truncateSync(path, 10 * 1024 ** 3);
      await expect(session.resolve('artifact://0')).rejects.toMatchObject({ code: 'TOO_LARGE' });
      const begun = performance.now();
      const { id, artifactsCopied } = await session.fork();
      await session.moveTo(join(folder, 'moved'));
      expect(performance.now() - begun).toBeLessThan(15_000);
      expect(artifactsCopied).toBe(true);
      for (const other of [session, await store.sessions.open(id)]) {
        const [name] = await other.artifacts.listFiles();
        const stat = fs.statSync(join(other.artifacts.folder, name!));
        expect([stat.size, stat.nlink]).toEqual([10 * 1024 ** 3, 2]);
      }
    });
  });

  describe('a blob', () => {
    it('that a session shows is not erased unless it is told to go everywhere', async () => {
      const { begin, store } = await openSessions(target);
      const { blobs } = store;
      const session = await begin();
      const bytes = Buffer.alloc(900, 3);
      await session.append(picture(bytes));
      const ref = `blob:sha256:${createHash('sha256').update(bytes).digest('hex')}`;
      const needed = { erased: false, neededBy: [{ kind: 'sessions', id: session.id }] };
      expect(await blobs.erase(ref, { reason: 'secret' })).toMatchObject(needed);
      expect((await session.load()).unresolved).toEqual([]);
      await blobs.erase(ref, { reason: 'secret', everywhere: true });
      expect((await session.load()).unresolved).toEqual([ref]);
    });
  });

  describe('an output', () => {
    it('goes to an artifact when it is long, and everybody reads it there', async () => {
      const rig = await openSessions(target);
      const session = await rig.begin();
      const sink = session.sink({ toolType: 'bash', spillThreshold: 1000 });
      const lines = Array.from({ length: 500 }, (_, n) => `line ${n} of the output`);
      for (const line of lines) await sink.push(`${line}\n`);
      const { artifactId, truncated, totalLines, output } = await sink.dump();
      expect({ artifactId, truncated, totalLines }).toEqual({
        artifactId: '0',
        truncated: true,
        totalLines: 501,
      });
      expect(output).toContain('line 499 of the output');
      const { store } = await openBeside(rig);
      const other = await store.sessions.open(session.id);
      const { content } = await other.resolve('artifact://0', { offset: 3 });
      expect(content.split('\n').slice(0, 2)).toEqual(lines.slice(2, 4));
    });

    it('of a session in memory takes 8 MiB of it at most', async () => {
      const { store } = await openSessions(target);
      const { sessions } = store;
      const session = await sessions.create({ inMemory: true });
      const sink = session.sink({ toolType: 'bash' });
      const line = `${'x'.repeat(1023)}\n`;
      for (let n = 0; n < 9; n++) await sink.push(line.repeat(1024));
      const { artifactId } = await sink.dump();
      const { content, size } = await session.resolve(`artifact://${artifactId}`, { offset: 4096 });
      expect(size).toBeLessThan(8_388_608 + 200);
      expect(content).toContain('kept first 4.0MB + last 4.0MB of 9.0MB; 1.0MB elided');
    });
  });
}
