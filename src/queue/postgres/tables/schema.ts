import { invalid } from '../../../base/errors.ts';
import type { Database } from '../../../postgres/database.ts';
import type { SchemaPart } from '../../../postgres/migrate.ts';
import type { SqlDialect, Value } from '../../filter/filter.ts';
import { readGlob, readLike, type CharRange, type PatternPiece } from '../../filter/pattern.ts';

// Tables of queues on PostgreSQL. docs/format/queue.md is normative. Every key begins with the queue, so that a queue
// with all its rows can be kept on one of many machines. All sorting of texts is by their bytes.

export const QUEUE_TABLES: SchemaPart = {
  name: 'queue',
  migrations: [
    {
      version: 1,
      sql: `
CREATE TABLE queues (
  queue   text COLLATE "C" NOT NULL PRIMARY KEY,
  last_id bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE TABLE queue_events (
  queue      text COLLATE "C" NOT NULL,
  id         bigint NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  source     text COLLATE "C" NOT NULL,
  type       text COLLATE "C" NOT NULL,
  subtype    text COLLATE "C",
  content    text COLLATE "C" NOT NULL,
  PRIMARY KEY (queue, id)
);
CREATE TABLE queue_consumers (
  queue         text COLLATE "C" NOT NULL,
  consumer_id   text COLLATE "C" NOT NULL,
  handler_cmd   text,
  filter        text,
  last_acked_id bigint NOT NULL DEFAULT 0,
  updated_at    text,
  bookmark_from bigint NOT NULL DEFAULT 0,
  bookmark_to   bigint NOT NULL DEFAULT 0,
  failures      integer NOT NULL DEFAULT 0,
  failed        boolean NOT NULL DEFAULT false,
  last_error    text,
  retry_at      timestamptz,
  waits_after   bigint NOT NULL DEFAULT 0,
  fence         bigint NOT NULL DEFAULT 0,
  holder        text,
  expires_at    timestamptz,
  PRIMARY KEY (queue, consumer_id)
) WITH (fillfactor = 50);`,
    },
  ],
};

/** The database's clock in the form of events: one clock for all machines. */
export const SQL_NOW = `to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Whether somebody holds the lease of a consumer. */
export const SQL_LEASED = '(holder IS NOT NULL AND expires_at > clock_timestamp())';

// PostgreSQL has no text with a NUL character in it, and events may have one. A text is stored with U+0001 U+0001 for
// NUL and U+0001 U+0002 for U+0001. That keeps the order of texts, so stored texts can be compared as they are.

/* eslint-disable no-control-regex -- Control characters are what this is about. */

/** The form in which a text is stored and compared. */
export function toStored(text: string): string {
  if (!/[\0\u0001]/.test(text)) return text;
  return text.replaceAll(/[\0\u0001]/g, (found) =>
    found === '\0' ? '\u0001\u0001' : '\u0001\u0002',
  );
}

export function fromStored(stored: string): string {
  if (!stored.includes('\u0001')) return stored;
  return stored.replaceAll(/\u0001[\u0001\u0002]/g, (found) =>
    found === '\u0001\u0001' ? '\0' : '\u0001',
  );
}

/** SQL for the characters of a stored text before its first NUL: SQLite looks no further for a pattern. */
function sqlPatternText(stored: string): string {
  return `replace(split_part(${stored}, E'\\x01\\x01', 1), E'\\x01\\x02', E'\\x01')`;
}

/** Returns whether there can be queues at all. The first queue creates the tables; asking does not. */
export async function hasQueueTables(database: Database): Promise<boolean> {
  const [tables] = await database.query<{ there: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS there',
    [`${database.address.schema}.queues`],
  );
  return tables?.there === true;
}

// Filters mean the same as in SQLite. Texts are compared by their bytes, and numbers by their value. LIKE treats upper
// and lower case of ASCII letters as the same. GLOB is a regular expression where LIKE cannot express it.

const C = 'COLLATE "C"';

export const postgresDialect: SqlDialect = {
  placeholder: (index) => `$${index}`,
  column: (name) => name,
  value: (value, bind) => sqlValue(value, bind),

  call(name) {
    throw invalid('filter', `calls ${name}, and queues on PostgreSQL have no functions in filters`);
  },

  same: (left, right) => `${left} IS NOT DISTINCT FROM ${right}`,

  like(left, { pattern, escape }, bind) {
    const pieces = readLike(pattern, escape);
    if (pieces === undefined) return never(left);
    const text = toLikePattern(pieces).replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
    return `lower(${sqlPatternText(left)} ${C}) LIKE ${bind(text)}`;
  },

  glob(left, pattern, bind) {
    const pieces = readGlob(pattern)?.map(withoutEmptyRanges);
    if (pieces === undefined) return never(left);
    const text = `(${sqlPatternText(left)} ${C})`;
    if (!pieces.some((piece) => piece.kind === 'set')) {
      return `${text} LIKE ${bind(toLikePattern(pieces))}`;
    }
    if (pieces.some((piece) => piece.kind === 'set' && matchesNothing(piece))) return never(left);
    return `${text} ~ ${bind(`^${pieces.map(toExpression).join('')}$`)}`;
  },
};

function sqlValue(value: Value, bind: (value: Value) => string): string {
  if (typeof value === 'string') return `(${bind(toStored(value))}::text ${C})`;
  if (typeof value === 'bigint') return `${bind(value)}::bigint`;
  // The exact value: a large whole number is written with all its digits.
  return `${bind(Number.isInteger(value) ? String(BigInt(value)) : String(value))}::numeric`;
}

/** A condition that is false, and unknown for NULL. */
function never(left: string): string {
  return `${left} <> ${left}`;
}

function toLikePattern(pieces: readonly PatternPiece[]): string {
  return pieces
    .map((piece) => {
      if (piece.kind === 'text') return piece.text.replaceAll(/[\\%_]/g, String.raw`\$&`);
      return piece.kind === 'any' ? '%' : '_';
    })
    .join('');
}

function toExpression(piece: PatternPiece): string {
  switch (piece.kind) {
    case 'any':
      return '.*';
    case 'one':
      return '.';
    case 'text':
      return Array.from(piece.text, toCode).join('');
    case 'set': {
      if (piece.ranges.length === 0) return '.';
      const ranges = piece.ranges.map(([first, last]) =>
        first === last ? toCode(first) : `${toCode(first)}-${toCode(last)}`,
      );
      return `[${piece.negated ? '^' : ''}${ranges.join('')}]`;
    }
  }
}

/** A character written by its number has no other meaning anywhere. */
function toCode(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
  return String.raw`\U${code.padStart(8, '0')}`;
}

/** A range whose last character comes before its first one holds no character. */
function withoutEmptyRanges(piece: PatternPiece): PatternPiece {
  if (piece.kind !== 'set') return piece;
  const isEmpty = ([first, last]: CharRange): boolean =>
    (first.codePointAt(0) ?? 0) > (last.codePointAt(0) ?? 0);
  return { ...piece, ranges: piece.ranges.filter((range) => !isEmpty(range)) };
}

function matchesNothing(set: PatternPiece & { readonly kind: 'set' }): boolean {
  return !set.negated && set.ranges.length === 0;
}
