import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { SEARCH_TABLES } from './schema.ts';

it('is what its documentation says', () => {
  const page = readFileSync(new URL('../../../docs/format/search.md', import.meta.url), 'utf8');
  for (const { sql } of SEARCH_TABLES.migrations) expect(page).toContain(sql.trim());
});
