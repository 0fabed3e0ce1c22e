import { describe } from 'vitest';
import { openPostgresEngine } from '../../src/engine/postgres/postgres-engine.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';
import { SUITE, streamConformance } from '../support/stream-conformance.ts';

describe('Durable Streams on PostgreSQL', SUITE, () => {
  streamConformance(async () => openPostgresEngine(await freshDatabase()));
});
