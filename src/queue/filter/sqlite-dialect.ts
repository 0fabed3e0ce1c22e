import type { SqlDialect } from './compile-filter.ts';

export const sqliteDialect: SqlDialect = {
  placeholder: () => '?',
  column: (name) => name,
  like: (left, pattern, escape) =>
    `${left} LIKE ${pattern}${escape === undefined ? '' : ` ESCAPE ${escape}`}`,
  glob: (left, pattern) => `${left} GLOB ${pattern}`,
};
