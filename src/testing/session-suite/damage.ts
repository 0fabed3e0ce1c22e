import * as fs from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Session } from '../../session/sessions.ts';
import type { Store } from '../../store/store.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { message, openSessions, picture } from './fixture.ts';
import type { SessionRig } from './fixture.ts';

async function beginTwo({ begin }: SessionRig): Promise<{ session: Session; file: string }> {
  const session = await begin();
  await session.append({ ...message('one'), id: 'e1' });
  await session.append({ ...message('two'), id: 'e2' });
  return { session, file: session.file! };
}

async function idsOf(store: Store, file: string): Promise<{ ids: string[]; malformed: number }> {
  const session = await store.sessions.open(file);
  const { entries, malformedLines } = await session.load();
  await session.close();
  return { ids: entries.map(({ id }) => id), malformed: malformedLines };
}

export function damageSuite(target: StoreTarget): void {
  describe('a damaged file', () => {
    it('has its torn tail set aside before the next line', async () => {
      const rig = await openSessions(target);
      const { store } = rig;
      const { session, file } = await beginTwo(rig);
      const whole = fs.readFileSync(file);
      fs.appendFileSync(file, '{"type":"message","id":"torn","te');
      expect(await idsOf(store, file)).toEqual({ ids: ['e1', 'e2'], malformed: 1 });
      await session.append({ ...message('three'), id: 'e3' });
      expect(await idsOf(store, file)).toEqual({ ids: ['e1', 'e2', 'e3'], malformed: 0 });
      expect(fs.readFileSync(file).subarray(0, whole.length)).toEqual(whole);
      expect(fs.readFileSync(`${file}.torn`, 'utf8')).toBe('{"type":"message","id":"torn","te\n');
      // A line that lacks only its end of line stays.
      fs.appendFileSync(file, '{"type":"message","id":"e4","parentId":"e3"}');
      await session.append({ ...message('five'), id: 'e5' });
      expect((await idsOf(store, file)).ids).toEqual(['e1', 'e2', 'e3', 'e4', 'e5']);
    });

    it('loses only the lines that are bad', async () => {
      const rig = await openSessions(target);
      const { store } = rig;
      const { session, file } = await beginTwo(rig);
      const odd = [
        'garbage',
        '\0'.repeat(5000),
        '{"type":"a","id":"g1"}{"type":"a","id":"g2"}\r',
        '',
      ];
      fs.appendFileSync(file, `${odd.join('\n')}\n`);
      const before = fs.readFileSync(file);
      await session.append({ ...message('after'), id: 'e3' });
      const { ids, malformed } = await idsOf(store, file);
      expect(ids).toEqual(['e1', 'e2', 'g1', 'g2', 'e3']);
      expect(malformed).toBe(2);
      expect(fs.readFileSync(file).subarray(0, before.length)).toEqual(before);
      expect((await session.last(3)).entries.map(({ id }) => id)).toEqual(['g1', 'g2', 'e3']);
    });

    it.each([
      '',
      'not json\n',
      '{"type":"message","id":"x"}\n',
      '\0\0\0\n',
      '{"type":"session"}\n',
    ])('is refused and left alone without a header: %j', async (start) => {
      const { store, folder } = await openSessions(target);
      const file = join(folder, '2026-11-15T10-20-30-456Z_lost.jsonl');
      fs.writeFileSync(file, `${start}{"type":"message","id":"e1","parentId":null}\n`);
      const before = [fs.readFileSync(file), fs.statSync(file).mtimeMs];
      await expect(store.sessions.open(file)).rejects.toMatchObject({
        code: 'CORRUPT',
        message: `Session header is missing or corrupt: ${file}`,
      });
      expect([fs.readFileSync(file), fs.statSync(file).mtimeMs]).toEqual(before);
      const header = await store.sessions.recoverHeader(file);
      expect(header).toMatchObject({ id: 'lost', timestamp: '2026-11-15T10:20:30.456Z' });
      expect((await idsOf(store, file)).ids).toContain('e1');
      expect(fs.readFileSync(file, 'utf8').endsWith(before[0]!.toString())).toBe(true);
    });

    it('of no bytes at all is refused, and becomes a session when asked to', async () => {
      const { store, folder } = await openSessions(target);
      const file = join(folder, '2026-11-15T10-20-30-456Z_empty.jsonl');
      fs.writeFileSync(file, '');
      await expect(store.sessions.open(file)).rejects.toMatchObject({
        code: 'CORRUPT',
        message: `Session header is missing or corrupt: ${file}`,
      });
      expect(fs.statSync(file).size).toBe(0);
      const header = await store.sessions.recoverHeader(file);
      expect(header).toMatchObject({ id: 'empty', timestamp: '2026-11-15T10:20:30.456Z' });
      const session = await store.sessions.open(file);
      await session.append({ ...message('first'), id: 'e1' });
      expect(await idsOf(store, file)).toEqual({ ids: ['e1'], malformed: 0 });
      expect((await store.sessions.list()).items).toMatchObject([{ id: 'empty', available: true }]);
    });

    it('opens when its pictures are gone, and says which', async () => {
      const rig = await openSessions(target);
      const { store } = rig;
      const { session, file } = await beginTwo(rig);
      await session.append(picture(Buffer.alloc(900, 1)));
      const lost = 'f'.repeat(64);
      fs.writeFileSync(
        file,
        fs.readFileSync(file, 'utf8').replace(/blob:sha256:\w{64}/, `blob:sha256:${lost}`),
      );
      const again = await store.sessions.open(file);
      const view = await again.load();
      expect(view.entries).toHaveLength(3);
      expect(view.unresolved).toEqual([`blob:sha256:${lost}`]);
      // The line was changed by hand for this test, which gives a warning as well.
      expect(view.warnings).toEqual([
        expect.objectContaining({ message: 'Session lines changed after they were written' }),
        { message: 'Blob not found for image reference', about: lost },
      ]);
    });

    it('is read in older versions, and never rewritten for it', async () => {
      const { store, folder } = await openSessions(target);
      const file = join(folder, 'old.jsonl');
      const lines = [
        { type: 'session', id: 'v1', timestamp: 't', cwd: '/' },
        { type: 'message', message: { role: 'hookMessage' } },
        { type: 'message', message: { role: 'user' } },
      ];
      fs.writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
      const session = await store.sessions.open(file);
      expect(session.leaf).toBe('line-2');
      const added = await session.append(message('new'));
      expect((await session.branch()).entries).toEqual([
        { ...lines[1], id: 'line-1', parentId: null, message: { role: 'custom' } },
        { ...lines[2], id: 'line-2', parentId: 'line-1' },
        added,
      ]);
    });
  });

  describe('secrets and odd input', () => {
    it('are taken out before anything is written', async () => {
      const { begin } = await openSessions(target);
      const session = await begin({
        redact: (entry) => ({ ...entry, key: entry['key'] === undefined ? undefined : '***' }),
      });
      await session.append({ type: 'custom', key: 'secret-token' });
      expect(fs.readFileSync(session.file!, 'utf8')).not.toContain('secret-token');
    });

    it('are refused, and change nothing', async () => {
      const rig = await openSessions(target);
      const { store } = rig;
      const { session, file } = await beginTwo(rig);
      const before = fs.readFileSync(file);
      for (const entry of [null, {}, { type: '' }, { type: 'session' }, { type: 'x', n: 1n }]) {
        await expect(session.append(entry as never)).rejects.toMatchObject({ code: 'INVALID' });
      }
      expect(fs.readFileSync(file)).toEqual(before);
      await expect(store.sessions.open('nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await expect(store.sessions.open('')).rejects.toMatchObject({ code: 'INVALID' });
      await expect(store.sessions.open('/no/such.jsonl')).rejects.toMatchObject({
        code: 'NOT_FOUND',
      });
      await expect(session.fork({ at: 'none' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await expect(store.sessions.list({ limit: 0 })).rejects.toMatchObject({ code: 'INVALID' });
      await session.close();
      await session.close();
      await expect(session.append(message('x'))).rejects.toMatchObject({ code: 'CLOSED' });
    });
  });
}
