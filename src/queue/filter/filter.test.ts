import { Database, firstColumn } from '../../base/sqlite.ts';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { quote, randomEvent, randomFilter } from '../../../test/queue/random-filters.ts';
import { SCHEMA } from '../sqlite/open-database.ts';
import { compileFilter, sqliteDialect } from './filter.ts';
import { parseFilter } from './parse-filter.ts';
import { testEvent, type AskEvent } from './pattern.ts';

const database = new Database(':memory:');
database.exec(SCHEMA);
afterAll(() => database.close());

/** Which rows SQLite itself finds with the text as it stands, which with what it was compiled to, and which alone. */
async function compare(
  filter: string,
): Promise<{ pasted: unknown; compiled: unknown; alone: unknown }> {
  const select = 'SELECT id FROM events WHERE ';
  const pasted = database.prepare(`${select}(${filter}) ORDER BY id`).all();
  const { sql, params } = compileFilter(parseFilter(filter), sqliteDialect);
  const compiled = database.prepare(`${select}${sql} ORDER BY id`).all(...params);
  const alone: unknown[] = [];
  for (const row of database.prepare('SELECT id FROM events ORDER BY id').all()) {
    if ((await testAlone(filter, (row as { id: number }).id)) === true) alone.push(row);
  }
  return { pasted, compiled, alone };
}

function testAlone(filter: string, id: number): Promise<boolean | null> {
  const ask: AskEvent = (sql, params) =>
    firstColumn(database.prepare(`SELECT ${sql} FROM events WHERE id = ?`).get(...params, id));
  return testEvent(parseFilter(filter), ask, async () => undefined);
}

describe('filters', () => {
  it('mean what SQLite means by them', async () => {
    const insert = database.prepare(
      'INSERT INTO events (source, type, subtype, content) VALUES (?, ?, ?, ?)',
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(randomEvent, { minLength: 1, maxLength: 6 }),
        fc.array(randomFilter, { maxLength: 12 }),
        async (events, filters) => {
          database.exec("DELETE FROM events; DELETE FROM sqlite_sequence WHERE name = 'events'");
          for (const { source, type, subtype, content } of events) {
            insert.run(source, type, subtype, content);
          }
          for (const one of filters) {
            const { pasted, compiled, alone } = await compare(one);
            expect(compiled, one).toEqual(pasted);
            expect(alone, one).toEqual(pasted);
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it('know how long a byte may take, and which bytes are read', () => {
    const compiled = (filter: string): { weight: number; readsContent: boolean } =>
      compileFilter(parseFilter(filter), sqliteDialect);
    expect(compiled("source = 'self'").weight).toBeLessThan(0.1);
    expect(compiled("source LIKE '%:a' AND NOT type GLOB 'm*'").weight).toBeGreaterThan(5);
    expect(compiled("source LIKE '%:a'").readsContent).toBe(false);
    for (const test of ["content LIKE '%a%'", "NOT (id = 1 OR lower(content) = 'x')"]) {
      expect(compiled(test)).toMatchObject({ readsContent: true });
      expect(compiled(test).weight).toBeGreaterThan(4);
    }
    // What is looked for counts, too.
    expect(compiled('instr(source, source) > 1').weight).toBeGreaterThan(32);
    expect(compiled(`instr(content, '${'x'.repeat(320)}') > 1`).weight).toBeGreaterThan(14);
  });

  // Without parentheses NOT would bind less tightly than AND: a compiler that drops them is found above.
  it('keep the order in which things bind', () => {
    const { sql } = compileFilter(
      parseFilter("NOT id = 1 AND id = 2 OR type = 'x'"),
      sqliteDialect,
    );
    expect(sql).toBe('(((NOT (id = ?)) AND (id = ?)) OR (type = ?))');
  });

  it.each([
    "source LIKE 'external:%'",
    "source LIKE 'external:telegram:%'",
    "source LIKE 'internal:%:warden'",
    "source = 'self'",
    "source LIKE '%:alice'",
    "type = 'message'",
    "source LIKE 'internal:%:warden' AND type = 'message'",
  ])('take %s', (given) => {
    expect(() => parseFilter(given)).not.toThrow();
  });

  it.each([
    ['', 1],
    ['1', 2],
    ['type', 5],
    ["type = 'a' type", 12],
    ["type = 'a", 8],
    ['type = "a"', 8],
    ["type = 'a';", 11],
    ["type = 'a'; DROP TABLE events", 11],
    ['1 = 1) OR (1 = 1', 6],
    ["type = 'a' -- x", 12],
    ["type = 'a' /* x */", 12],
    ["type = 'a' UNION SELECT 1", 12],
    ['id IN (SELECT id FROM events)', 8],
    ['EXISTS (SELECT 1)', 1],
    ['(SELECT 1) = 1', 2],
    ['hex(content) > 1', 1],
    ['length() > 1', 8],
    ["length(content, 'x') > 1", 15],
    ['lower(id) = 1', 7],
    ["json_extract('{}', '$.a') = 1", 1],
    ["json_extract(content, 'a') = 1", 1],
    ["json_extract(content, '$.a'' OR 1') = 1", 1],
    [`${'lower('.repeat(60)}type${')'.repeat(60)} = 'x'`, 295],
    ["load_extension('x') = 1", 1],
    ["randomblob(1000000000) = ''", 1],
    ['rowid = 1', 1],
    ['events.id = 1', 7],
    ["handler_cmd = 'x'", 1],
    ["consumer_id = 'x'", 1],
    ["content || 'x' = 'y'", 9],
    ['id + 1 = 2', 4],
    ['id = 1 = 1', 8],
    ['id = -type', 7],
    ["id = 'x'", 6],
    ['type = 1', 8],
    ["id LIKE '1'", 9],
    ['type LIKE source', 11],
    ["type LIKE 'x' ESCAPE 'ab'", 22],
    ['type = NULL', 8],
    ['type IS 1', 9],
    ['id IS', 6],
    ["type COLLATE NOCASE = 'x'", 6],
    ['CASE WHEN 1 THEN 1 END = 1', 1],
    ["CAST(id AS TEXT) = '1'", 1],
    ["content MATCH 'x'", 9],
    ["content REGEXP 'x'", 9],
    ["x'61' = content", 1],
    ['id = ?', 6],
    ['id = :id', 6],
    ['id = @id', 6],
    ['id = $id', 6],
    ['id = 0x10', 6],
    ['id = 1abc', 6],
    ['id IN ()', 8],
    ['id IN (1, 2', 12],
    ['[id] = 1', 1],
    ['`id` = 1', 1],
    ['ｉｄ = 1', 1],
    [`${'('.repeat(60)}id = 1${')'.repeat(60)}`, 51],
    [`${'NOT '.repeat(60)}id = 1`, 201],
  ])('refuse %s at character %i', (given, place) => {
    expect(() => parseFilter(given)).toThrow(new RegExp(`refused at character ${place}:`));
  });

  it('are bounded', () => {
    expect(() => parseFilter(Array(201).fill('id = 1').join(' OR '))).toThrow(/at most 200 tests/);
    const like = (chars: number): string => `content LIKE '${'a'.repeat(chars)}'`;
    expect(() => parseFilter(`${like(300)} OR NOT ${like(213)}`)).toThrow(/at most 512 characters/);
    expect(parseFilter(`${like(300)} OR NOT ${like(212)}`)).toBeDefined();
    expect(() => parseFilter(`type = '${'x'.repeat(9000)}'`)).toThrow(/at most 8192/);
    expect(() => parseFilter("type = '\ud800'")).toThrow(/surrogate/);
    expect(() => parseFilter("type = 'a\0b'")).toThrow(/NUL/);
    const quadratic = 'instr(content, lower(substr(content, 9))) > 0';
    expect(() => parseFilter(quadratic)).toThrow(/cannot look for a content/);
    expect(() => parseFilter('instr(content, source) > 0')).not.toThrow();
    const long = `instr(content, '${'x'.repeat(513)}') > 0`;
    expect(() => parseFilter(long)).toThrow(/at most 512 characters/);
  });

  it('never let a value into the text', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), (value) => {
        const given = `content = ${quote(value)}`;
        const { sql, params } = compileFilter(parseFilter(given), sqliteDialect);
        expect(sql).toBe('(content = ?)');
        expect(params).toEqual([value]);
      }),
    );
  });
});
