import { beforeAll } from 'vitest';
import type { Engine } from '../../src/engine/engine.ts';
import { openPostgresEngine } from '../../src/engine/postgres/open-postgres-engine.ts';
import { CAPABILITIES } from '../../src/engine/postgres/postgres-engine.ts';
import { engineSuite } from '../../src/testing/engine-suite/engine-suite.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';

let database: string;
beforeAll(async () => {
  database = await freshDatabase();
});

const urls = new WeakMap<Engine, string>();
let count = 0;

async function openAt(url: string, opening: { clock?: () => number } = {}): Promise<Engine> {
  const engine = await openPostgresEngine(url, { ...opening, connections: 4 });
  urls.set(engine, url);
  return engine;
}

engineSuite({
  name: 'postgres',
  capabilities: CAPABILITIES,
  randomRuns: 5,
  open: (opening) => openAt(`${database}?schema=s${(count += 1)}`, opening),
  reopen: (engine, opening) => openAt(urls.get(engine) ?? '', opening),
});
