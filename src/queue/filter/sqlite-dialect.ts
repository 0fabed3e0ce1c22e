import type { SqlDialect } from './compile-filter.ts';

export const sqliteDialect: SqlDialect = {
  placeholder: () => '?',
  column: (name) => name,
  value: (value, bind) => bind(value),
  // Content need not be JSON, and SQLite's function fails on text that is not JSON.
  call: (name, args) =>
    name === 'json_extract'
      ? `CASE WHEN json_valid(${args[0] ?? ''}) THEN json_extract(${args.join(', ')}) END`
      : `${name}(${args.join(', ')})`,
  same: (left, right) => `${left} IS ${right}`,
  like: (left, { pattern, escape }, bind) =>
    `${left} LIKE ${bind(pattern)}${escape === undefined ? '' : ` ESCAPE ${bind(escape)}`}`,
  glob: (left, pattern, bind) => `${left} GLOB ${bind(pattern)}`,
};
