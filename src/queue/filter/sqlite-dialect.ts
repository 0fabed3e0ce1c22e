import type { SqlDialect } from './compile-filter.ts';

export const sqliteDialect: SqlDialect = {
  placeholder: () => '?',
  column: (name) => name,
  value: (value, bind) => bind(value),
  like: (left, { pattern, escape }, bind) =>
    `${left} LIKE ${bind(pattern)}${escape === undefined ? '' : ` ESCAPE ${bind(escape)}`}`,
  glob: (left, pattern, bind) => `${left} GLOB ${bind(pattern)}`,
};
