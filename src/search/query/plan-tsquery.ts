import { KIND_TOKENS, fieldToken } from './field-token.ts';
import type { Condition, Leaf } from './query.ts';

// The same conditions for PostgreSQL. A lexeme begins with the part of the index that its document is in, so that a
// query reads the postings of one part at a time. Parts of identifiers have places, wholes and fields have none: so only
// parts make a phrase.

/** Documents of one part of the index. Their numbers follow each other. */
export const PART_DOCS = 32_768;

const DIGITS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_';

/** Two characters. They come again after 4,096 parts, so a query says which documents it means, too. */
export function partPrefix(part: number): string {
  return `${DIGITS[(part >> 6) & 63] ?? ''}${DIGITS[part & 63] ?? ''}`;
}

/** The tsquery for a condition in one part. Undefined: everything. */
export function planTsquery(condition: Condition | undefined, part: number): string {
  const prefix = partPrefix(part);
  return condition === undefined ? everything(prefix) : compile(condition, prefix);
}

function everything(prefix: string): string {
  return `(${KIND_TOKENS.map((token) => lexeme(prefix, token)).join(' | ')})`;
}

function compile(condition: Condition, prefix: string): string {
  switch (condition.kind) {
    case 'and':
      return compileAnd(condition.terms, prefix);
    case 'or':
      return `(${condition.terms.map((term) => compile(term, prefix)).join(' | ')})`;
    case 'not':
      return compileAnd([condition], prefix);
    case 'term':
    case 'phrase':
    case 'field':
      return compileLeaf(condition, prefix);
  }
}

/** Without a lexeme that must be there, the whole table would be read. */
function compileAnd(terms: readonly Condition[], prefix: string): string {
  const wanted = terms.filter((term) => term.kind !== 'not').map((term) => compile(term, prefix));
  const unwanted = terms.flatMap((term) =>
    term.kind === 'not' ? [`!${compile(term.term, prefix)}`] : [],
  );
  const first = wanted.length === 0 ? [everything(prefix)] : wanted;
  return `(${[...first, ...unwanted].join(' & ')})`;
}

function compileLeaf(leaf: Leaf, prefix: string): string {
  switch (leaf.kind) {
    case 'term':
      return lexeme(prefix, leaf.token) + (leaf.prefix ? ':*' : '');
    case 'phrase': {
      const parts = leaf.parts.map((part) => lexeme(prefix, part)).join(' <-> ');
      return `(${parts}${leaf.prefix ? ':*' : ''})`;
    }
    case 'field':
      return lexeme(prefix, fieldToken(leaf.field, leaf.value));
  }
}

/** A lexeme as tsquery and tsvector take it. */
export function lexeme(prefix: string, token: string): string {
  return `'${prefix}${token.replaceAll(/['\\]/g, (found) => found + found)}'`;
}
