import { KIND_TOKENS, fieldToken } from './field-token.ts';
import type { Condition, Leaf } from './query.ts';

// The columns of the FTS5 tables: `part`, `whole` and `field`. A token of a text never looks like that of a field, so
// only phrases need to name their column: parts that follow each other are in one.

/** The MATCH expression for a condition. Undefined: everything. */
export function planFts5(condition: Condition | undefined): string {
  return condition === undefined ? EVERYTHING : compile(condition);
}

const EVERYTHING = `(${KIND_TOKENS.map(quote).join(' OR ')})`;

function compile(condition: Condition): string {
  switch (condition.kind) {
    case 'and':
      return compileAnd(condition.terms);
    case 'or':
      return `(${condition.terms.map(compile).join(' OR ')})`;
    case 'not':
      return compileAnd([condition]);
    case 'term':
    case 'phrase':
    case 'field':
      return compileLeaf(condition);
  }
}

/** FTS5 has no NOT of its own, only "this and not that". */
function compileAnd(terms: readonly Condition[]): string {
  const wanted = terms.filter((term) => term.kind !== 'not').map(compile);
  const unwanted = terms.flatMap((term) => (term.kind === 'not' ? [compile(term.term)] : []));
  const first = wanted.length === 0 ? EVERYTHING : `(${wanted.join(' AND ')})`;
  return unwanted.length === 0 ? first : `(${[first, ...unwanted].join(' NOT ')})`;
}

function compileLeaf(leaf: Leaf): string {
  switch (leaf.kind) {
    case 'term':
      return `${quote(leaf.token)}${leaf.prefix ? ' *' : ''}`;
    case 'phrase':
      return `part : ${quote(leaf.parts.join(' '))}${leaf.prefix ? ' *' : ''}`;
    case 'field':
      return quote(fieldToken(leaf.field, leaf.value));
  }
}

function quote(token: string): string {
  return `"${token.replaceAll('"', '""')}"`;
}
