import { describe, expect, it } from 'vitest';

import { isQuipuError } from '../base/errors.ts';
import { assertName } from './names.ts';

function problemOf(name: string): unknown {
  try {
    assertName(name, 'log name');
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
