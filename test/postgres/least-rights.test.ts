import { execFile } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject, it } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import { createDatabase } from '../support/postgres/create-database.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';
import { runSql } from '../support/postgres/run-sql.ts';
import { projectPath } from '../support/project.ts';

it('a user who may make no tables uses every part of a store', async () => {
  const owner = await createDatabase(inject('postgresUrl'));
  await (await openStore(owner)).close();
  const user = `user${Math.random().toString(36).slice(2)}`;
  await runSql(
    owner,
    `CREATE ROLE ${user} LOGIN PASSWORD 'x'; GRANT USAGE ON SCHEMA quipu TO ${user};
     GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA quipu TO ${user}`,
  );
  const url = new URL(owner);
  url.username = user;
  url.password = 'x';
  const store = await openStore(url.href);
  try {
    const { id } = await store.contexts.create();
    await store.contexts.append(id, { type: 'note', payload: 'a harbour' });
    const queue = await store.queues.open('inbox');
    expect(await queue.push({ source: 'self', type: 'message', content: 'a harbour' })).toBe(1);
    expect((await store.search('harbour')).hits).toHaveLength(2);
    expect(await store.maintain.verify()).toMatchObject({ ok: true });
    await store.maintain.gc();
  } finally {
    await store.close();
    await runSql(owner, `DROP OWNED BY ${user}; DROP ROLE ${user}`);
  }
});

it('a store that nobody closed does not keep a process alive', async () => {
  const entry = pathToFileURL(projectPath('dist/index.js')).href;
  const script = `
    const { openStore } = await import(${JSON.stringify(entry)});
    const store = await openStore(process.env.QUIPU_STORE);
    const { id } = await store.contexts.create();
    await store.contexts.append(id, { type: 'note', payload: 1 });
    for await (const turn of store.contexts.follow(id)) break;
    console.log('done');`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', script],
    { env: { ...process.env, QUIPU_STORE: await freshDatabase() } },
  );
  expect(stdout).toBe('done\n');
});
