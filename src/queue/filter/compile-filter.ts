import type { Filter, Operand, Value } from './filter.ts';

/** How a database writes what databases write differently. */
export interface SqlDialect {
  /** For the parameter with this number, from 1. */
  placeholder(index: number): string;
  column(name: string): string;
  /** Upper and lower case of ASCII letters are the same, and nothing escapes unless `escape` says so. */
  like(left: string, pattern: string, escape: string | undefined): string;
  /** `*`, `?` and `[…]`, with case. */
  glob(left: string, pattern: string): string;
}

export interface CompiledFilter {
  /** In parentheses; every value is a parameter. */
  readonly sql: string;
  readonly params: readonly Value[];
}

/** `before`: how many parameters the statement has in front of it. */
export function compileFilter(filter: Filter, dialect: SqlDialect, before = 0): CompiledFilter {
  const params: Value[] = [];
  const bind = (value: Value): string => {
    params.push(value);
    return dialect.placeholder(before + params.length);
  };
  const operand = (given: Operand): string =>
    given.kind === 'column' ? dialect.column(given.name) : bind(given.value);
  const write = (part: Filter): string => {
    switch (part.kind) {
      case 'and':
      case 'or':
        return `(${part.terms.map(write).join(part.kind === 'and' ? ' AND ' : ' OR ')})`;
      case 'not':
        return `(NOT ${write(part.term)})`;
      case 'compare':
        return `(${operand(part.left)} ${part.op} ${operand(part.right)})`;
      case 'like': {
        const left = operand(part.left);
        const pattern = bind(part.pattern);
        const escape = part.escape === undefined ? undefined : bind(part.escape);
        return negate(part.negated, dialect.like(left, pattern, escape));
      }
      case 'glob':
        return negate(part.negated, dialect.glob(operand(part.left), bind(part.pattern)));
      case 'in': {
        const left = operand(part.left);
        return negate(part.negated, `${left} IN (${part.values.map(operand).join(', ')})`);
      }
      case 'between': {
        const left = operand(part.left);
        return negate(
          part.negated,
          `${left} BETWEEN ${operand(part.low)} AND ${operand(part.high)}`,
        );
      }
      case 'null':
        return `(${operand(part.left)} IS ${part.negated ? 'NOT ' : ''}NULL)`;
    }
  };
  return { sql: write(filter), params };
}

function negate(negated: boolean, sql: string): string {
  return negated ? `(NOT (${sql}))` : `(${sql})`;
}
