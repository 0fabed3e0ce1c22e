import { describe, expect } from 'vitest';

import type { EngineTarget } from './engine-target.ts';
import { appendLines, failure, only, openEngine, engineCases } from './fixture.ts';

export function logSuite(target: EngineTarget): void {
  const it = engineCases(target);
  describe('logs', () => {
    it('keeps lines in order and reads any of them', async ({ engine }) => {
      const lines = ['{"a":1}', ' [1, 2] ', '"ü\u2028"', '{}', 'null'];
      await appendLines(engine, 'logs/history/2026-11-15.jsonl', ...lines.slice(0, 2));
      await appendLines(engine, 'logs/history/2026-11-15.jsonl', ...lines.slice(2));
      const name = 'logs/history/2026-11-15.jsonl';
      const bytes = Buffer.byteLength(lines.join('\n')) + 1;
      expect(await engine.getLog(name)).toEqual({ name, lines: 5, bytes });
      expect(await engine.readLog(name, 0, 100)).toEqual(lines);
      expect(await engine.readLog(name, 1, 3)).toEqual(lines.slice(1, 4));
      expect(await engine.readLog(name, 4, 1)).toEqual(['null']);
      expect(await engine.readLog(name, 5, 10)).toEqual([]);
      expect(await engine.readLog(name, 50, 10)).toEqual([]);
      const whole = { lines: 5, bytes, damage: [] };
      expect(await engine.salvageLog(name, 1, 3)).toEqual({ ...whole, page: lines.slice(1, 4) });
      expect(await engine.salvageLog(name, 5, 3)).toEqual({ ...whole, page: [] });
    });

    it('reads far into a long log', async ({ engine }) => {
      const lines = Array.from({ length: 5000 }, (_, n) =>
        JSON.stringify({ n, pad: 'x'.repeat(n % 100) }),
      );
      for (let at = 0; at < lines.length; at += 1000)
        await appendLines(engine, 'logs/long', ...lines.slice(at, at + 1000));
      for (const from of [0, 1, 999, 1000, 2500, 4990, 4999]) {
        expect(await engine.readLog('logs/long', from, 20)).toEqual(lines.slice(from, from + 20));
      }
    });

    it('says how long a log is after the commit', async ({ engine }) => {
      const committed = await engine.commit({
        logs: [{ do: 'append', name: 'logs/a', lines: ['1', '22'] }],
      });
      expect(only(committed.logs)).toEqual({ name: 'logs/a', lines: 2, bytes: 5 });
    });

    it('knows nothing of a log that is not there', async ({ engine }) => {
      expect(await engine.getLog('missing')).toBeUndefined();
      expect(await engine.readLog('missing', 0, 10)).toEqual([]);
      expect(await engine.salvageLog('missing', 0, 10)).toBeUndefined();
    });

    it('removes a log, and starts anew under the same name', async ({ engine }) => {
      await appendLines(engine, 'logs/a/b', '1', '2');
      await engine.commit({ logs: [{ do: 'remove', name: 'logs/a/b' }] });
      expect(await engine.getLog('logs/a/b')).toBeUndefined();
      expect(await engine.readLog('logs/a/b', 0, 10)).toEqual([]);
      expect(await engine.listLogs('', 10)).toEqual([]);
      await engine.commit({ logs: [{ do: 'remove', name: 'logs/a/b' }] });
      await appendLines(engine, 'logs/a/b', '3');
      expect(await engine.readLog('logs/a/b', 0, 10)).toEqual(['3']);
      expect(await engine.getLog('logs/a/b')).toEqual({ name: 'logs/a/b', lines: 1, bytes: 2 });
    });

    it('lets a change of a batch see the ones before it', async ({ engine }) => {
      await appendLines(engine, 'logs/a', '1');
      const add = (line: string) => ({ do: 'append', name: 'logs/a', lines: [line] }) as const;
      await engine.commit({ logs: [add('2'), { ...add('3'), expectedLines: 2 }] });
      expect(await engine.readLog('logs/a', 0, 10)).toEqual(['1', '2', '3']);
      await engine.commit({
        logs: [
          { do: 'remove', name: 'logs/a' },
          { ...add('4'), expectedLines: 0 },
        ],
      });
      expect(await engine.readLog('logs/a', 0, 10)).toEqual(['4']);
    });

    it('appends only at the expected length', async ({ engine }) => {
      const at = (expectedLines: number) =>
        engine.commit({
          logs: [{ do: 'append', name: 'logs/a', lines: ['1', '2'], expectedLines }],
        });
      await failure(at(1), 'HEAD_MOVED');
      await at(0);
      await at(2);
      const error = await failure(at(2), 'HEAD_MOVED');
      expect(error.data).toEqual({ context: 'logs/a', expected: '2', head: '4' });
      expect(await engine.getLog('logs/a')).toMatchObject({ lines: 4 });
    });

    it.each(['{"a":1}\n', '{}\r', '[1,\n2]', '', 'x', '{', '1 2', '"\ud800"'])(
      'refuses the line %j',
      async (line) => {
        const engine = await openEngine(target);
        await failure(appendLines(engine, 'logs/a', '1', line), 'INVALID');
        expect(await engine.getLog('logs/a')).toBeUndefined();
      },
    );

    it.each([
      '',
      '/a',
      'a/',
      'a//b',
      '..',
      'a/../b',
      './a',
      'a b',
      'ü',
      'a\\b',
      'blobs/x',
      'contexts/1',
      'FORMAT',
      'Blobs/x',
      'sessions/x.jsonl',
      'queues/inbox/events.db-wal',
      'lock.db-journal',
      'log',
      'Logs/x',
      'mine/x',
    ])('refuses the name %j', async (name) => {
      const engine = await openEngine(target);
      await failure(appendLines(engine, name, '1'), 'INVALID');
    });

    it('takes a name of 512 characters and no more', async ({ engine }) => {
      const name = `logs/${`${'a'.repeat(127)}/`.repeat(4).slice(0, -1)}a`.slice(0, 512);
      await appendLines(engine, name, '1');
      expect(await engine.listLogs('logs/a', 10)).toEqual([name]);
      await failure(appendLines(engine, `${name}a`, '1'), 'INVALID');
    });

    it('lists names by prefix, sorted, in pages', async ({ engine }) => {
      const names = [
        'chats/b',
        'chats/a',
        'chats/C',
        'logs/c',
        'chats/a-x',
        'chats-cache/2',
        'out/1',
      ];
      for (const name of names) await appendLines(engine, name, '1');
      const inChats = ['chats/C', 'chats/a', 'chats/a-x', 'chats/b'];
      expect(await engine.listLogs('chats/', 10)).toEqual(inChats);
      expect(await engine.listLogs('chats/', 2)).toEqual(inChats.slice(0, 2));
      expect(await engine.listLogs('chats/', 2, 'chats/a')).toEqual(inChats.slice(2));
      expect(await engine.listLogs('chats/', 10, 'chats/a-w')).toEqual(inChats.slice(2));
      expect(await engine.listLogs('chats/', 10, 'chats/b')).toEqual([]);
      expect(await engine.listLogs('', 100)).toEqual(names.toSorted());
      expect(await engine.listLogs('nothing', 10)).toEqual([]);
    });
  });
}
