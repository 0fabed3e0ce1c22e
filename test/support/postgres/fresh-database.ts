import { inject } from 'vitest';
import { createDatabase } from './create-database.ts';

/** The URL of a new, empty database on the server that the tests share. */
export async function freshDatabase(): Promise<string> {
  return createDatabase(inject('postgresUrl'));
}
