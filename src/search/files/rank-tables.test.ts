import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { Database, firstColumn } from '../../base/sqlite.ts';
import { freshFolder } from '../../testing/fresh-folder.ts';
import type { IndexChange, PickRequest, Picks } from '../contract/search-index.ts';
import { ReadDesk } from './read-desk.ts';
import { WriteDesk } from './write-desk.ts';

let path = '';
beforeEach(() => {
  path = join(freshFolder(), 'search.db');
});

const FULL = 65_536;
const page = { source: 'context', marks: [], progress: { done: 0, total: 0 }, isLast: true };
const said = { thread: '1', depth: 1, at: 0, type: 'note', kind: 'context', tools: [] };
const long = `${'filler '.repeat(240)}needle `.repeat(40);
const texts = [
  'needle',
  'a needle in a haystack',
  'needle needle and more needle',
  long,
  'two needle words needle words',
  'words before a needle',
];

function put(nth: number, text: string): IndexChange {
  return { put: { ...said, ref: `ref-${nth}`, texts: [text] } };
}

/** Puts the texts into the first part, and fills it up. */
function fill(desk: WriteDesk): void {
  for (let from = texts.length; from < FULL; from += 8192) {
    const count = Math.min(8192, FULL - from);
    desk.apply({
      ...page,
      changes: Array.from({ length: count }, (_, at) => put(from + at, 'other')),
    });
  }
}

function pick(...tokens: string[]): Picks {
  const leaves = tokens.map((token) => ({ kind: 'term', token, prefix: false }) as const);
  const request: PickRequest = {
    condition: { kind: 'or', terms: leaves },
    leaves,
    isLoose: true,
    order: 'best',
    limit: 50,
    group: false,
    facets: false,
    timeMs: 10_000,
    candidates: 1000,
  };
  const desk = new ReadDesk(path);
  const picks = desk.pick(request);
  desk.close();
  return picks;
}

function read(sql: string): unknown {
  const db = new Database(path);
  try {
    return firstColumn(db.prepare(sql).get());
  } finally {
    db.close();
  }
}

it('ranks the documents of a part that is sealed as it did before', () => {
  const desk = new WriteDesk(path);
  desk.apply({ ...page, changes: texts.map((text, nth) => put(nth, text)) });
  const before = pick('needle');
  expect(before.picked.map(({ ref }) => ref)).toHaveLength(texts.length);
  const mixed = pick('needle', 'words').picked.map(({ ref }) => ref);
  fill(desk);
  expect(read('SELECT sealed FROM parts WHERE id = 1')).toBe(1);
  expect(read('SELECT count(*) FROM fresh')).toBe(0);
  const after = pick('needle');
  expect(after.picked.map(({ ref }) => ref)).toEqual(before.picked.map(({ ref }) => ref));
  expect(after.matches).toBe(before.matches);
  expect(pick('needle', 'words').picked.map(({ ref }) => ref)).toEqual(mixed);
  desk.close();
});

it('leaves nothing of a document that left in the lengths and lists of a sealed part', () => {
  const desk = new WriteDesk(path);
  desk.apply({ ...page, changes: texts.map((text, nth) => put(nth, text)) });
  fill(desk);
  const listed = (): unknown => read('SELECT sum(length(list)) FROM counts');
  const [lists, lengths] = [listed(), read('SELECT hex(substr(lengths, 1, 12)) FROM lengths')];
  const gone = texts.map((_, nth): IndexChange => {
    return { remove: { thread: '1', ref: `ref-${nth}` } };
  });
  desk.apply({ ...page, changes: gone });
  expect(pick('needle').matches).toBe(0);
  expect([listed(), read('SELECT hex(substr(lengths, 1, 12)) FROM lengths')]).toEqual([
    lists,
    lengths,
  ]);
  desk.purge();
  expect(listed()).toBeNull();
  expect(read('SELECT hex(substr(lengths, 1, 12)) FROM lengths')).toBe('0'.repeat(24));
  expect(pick('other').matches).toBe(1000);
  desk.close();
});
