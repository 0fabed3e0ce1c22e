import { describe, expect, it } from 'vitest';
import { isQuipuError } from '../base/errors.ts';
import { assertFileName, assertName, eachName } from './names.ts';

function problemOf(name: string, check = assertName): unknown {
  try {
    check(name, 'log name');
    return undefined;
  } catch (error) {
    return error;
  }
}

describe('assertName', () => {
  it.each(['a', 'threads.json', 'chats/session-1.events.ndjson', 'A_b-c.9', 'x/blobs', '...'])(
    'takes %j',
    (name) => {
      expect(problemOf(name)).toBeUndefined();
    },
  );

  it.each([
    '',
    '/',
    'a/',
    '/a',
    'a//b',
    '.',
    '..',
    'a/../b',
    'a/.',
    'a b',
    'a\\b',
    'é',
    'a\n',
    'a:b',
  ])('refuses %j', (name) => {
    expect(isQuipuError(problemOf(name), 'INVALID')).toBe(true);
  });

  it.each([
    'blobs/x',
    'turns',
    'journal/a',
    'extents',
    'docs/a',
    'index.db',
    'FORMAT',
    'contexts/1',
    'format',
    'Tokens.json',
    'tokens.json.new',
    'lock.db-journal',
    'INDEX.db-wal',
    'index.db-shm',
    'queues/inbox/events.db',
    'Sessions/x.jsonl',
  ])('keeps %j for the store', (name) => {
    expect(isQuipuError(problemOf(name), 'INVALID')).toBe(true);
  });

  it('allows 512 characters and not one more', () => {
    expect(problemOf('x'.repeat(512))).toBeUndefined();
    expect(problemOf('x'.repeat(513))).toMatchObject({
      code: 'INVALID',
      data: { what: 'log name' },
    });
  });
});

describe('assertFileName', () => {
  it.each(['chats/a', 'workflows/bundles/x/threads.json', 'logs/deep/er', 'out/x.json'])(
    'takes %j',
    (name) => {
      expect(problemOf(name, assertFileName)).toBeUndefined();
    },
  );

  it.each(['a', 'chats', 'Chats/a', 'mine/a', 'session/a', 'node_modules/a', '.git/config'])(
    'has no folder for %j',
    (name) => {
      expect(isQuipuError(problemOf(name, assertFileName), 'INVALID')).toBe(true);
    },
  );
});

it.each([0, 1, 999, 1000, 1001, 2000])('yields each of %i names once, in order', async (count) => {
  const names = Array.from({ length: count }, (_, n) => String(n).padStart(5, '0'));
  const seen: string[] = [];
  const list = async (limit: number, after = ''): Promise<string[]> =>
    names.filter((name) => name > after).slice(0, limit);
  for await (const name of eachName(list)) seen.push(name);
  expect(seen).toEqual(names);
});
