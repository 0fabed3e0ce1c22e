import { invalid } from '../../../base/errors.ts';
import type { SqlDialect } from '../../filter/compile-filter.ts';
import type { Value } from '../../filter/filter.ts';
import { readGlob, readLike, type CharRange, type PatternPiece } from '../../filter/pattern.ts';
import { sqlPatternText, toStored } from './schema.ts';

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
    const text = lowerAscii(toLikePattern(pieces));
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
    return `${text} ~ ${bind(toRegExp(pieces))}`;
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

function toRegExp(pieces: readonly PatternPiece[]): string {
  return `^${pieces.map(toExpression).join('')}$`;
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

function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}
