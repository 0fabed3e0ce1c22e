import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { STORE_SCHEMA } from './schema.ts';

it('is what its documentation says', () => {
  const page = readFileSync(new URL('../../../docs/format/postgres.md', import.meta.url), 'utf8');
  for (const { sql } of STORE_SCHEMA.migrations) expect(page).toContain(sql.trim());
});
