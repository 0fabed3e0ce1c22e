import { afterAll, beforeAll, expect, it } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import { CliRig, type Ran } from '../cli/rig.ts';
import { takeIn } from '../cli/taken-in.ts';
import { parseBlocks } from '../docs/blocks.ts';
import { runShellBlocks } from '../docs/run-shell.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';
import { projectPath, readPackageJson, readProject } from '../support/project.ts';

let rig: CliRig;
let shown: string;
beforeAll(async () => {
  rig = new CliRig({ onDisk: true });
  const url = await freshDatabase();
  rig.env['QUIPU_STORE'] = url;
  const { host, pathname } = new URL(url);
  shown = `postgres://${host}${pathname}`;
});
afterAll(() => rig[Symbol.dispose]());

it('keeps a store in a database, and its password to itself', async () => {
  expect(await rig.run('context', 'list')).toMatchObject({ code: 1 });
  expect(await rig.run('init')).toEqual({ code: 0, out: `${shown}\n`, err: '' });
  expect(await rig.run('init', '--json')).toMatchObject({
    out: `${JSON.stringify({ store: shown, created: false })}\n`,
  });
  expect(await rig.run('context', 'create', '--title', 'talk')).toMatchObject({ code: 0 });
  const stats = await rig.run('stats');
  expect(stats.out).toContain(shown);
  expect(stats.out).not.toContain('p%3Aw');
  expect(await rig.run('verify')).toMatchObject({ code: 0 });
  const doctor = await rig.run('doctor');
  expect(doctor.out).toContain('postgres engine, 1 contexts');
  expect((await rig.run('backup', 'copy', '--json')).err).toContain('pg_dump');
});

it('draws the branches of a tree', async () => {
  for (const text of ['one', 'two']) {
    await rig.run('context', 'append', '1', '--type', 'note', '--text', text);
  }
  await rig.run('context', 'fork', '1');
  await rig.run('context', 'append', '2', '--type', 'note', '--text', 'three');
  const { out } = await rig.run('log', '1', '--graph', '--oneline');
  expect(out).toBe(
    ['* 3 (context 2) note three', '| * 2 (context 1) note two', '|/', '* 1 note one', ''].join(
      '\n',
    ),
  );
});

it('takes in what an export wrote', async () => {
  const { added, kept, expected } = await takeIn(rig);
  expect(added).toEqual([
    [3, 2],
    [0, 0],
  ]);
  expect(kept).toEqual(expected);
});

it('searches a database', async () => {
  const found = await rig.run('search', 'thr* context:2');
  expect(found).toMatchObject({ code: 0, err: '' });
  expect(found.out).toContain('context 2  3');
  expect(found.out).toContain('»three«');
  const { out } = await rig.run('search', 'one context:1', '--json', '--facets');
  expect(JSON.parse(out)).toMatchObject({
    hits: [{ id: '1', branches: ['1', '2'], snippet: { text: 'one' } }],
    facets: { type: [{ value: 'note', count: 1 }] },
    ranked: 'all',
    index: { upToDate: true },
  });
  expect(await rig.run('search', '"open')).toMatchObject({ code: 2 });
});

it('serves a database', async () => {
  let ended: Promise<Ran> | undefined;
  const said = new Promise<string>((resolve, reject) => {
    rig.accept = (data) => resolve(String(data));
    ended = rig.run('serve', '--port', '0', '--tcp-port', '0', '--json');
    ended.then(({ err }) => reject(new Error(err)), reject);
  });
  const { store, tcp, http } = JSON.parse(await said) as Record<'store' | 'tcp' | 'http', string>;
  expect(store).toBe(shown);
  const answer = await fetch(new URL('/v1/search?q=two+context:1&waitMs=20000', http));
  expect([answer.status, await answer.json()]).toMatchObject([200, { hits: [{ id: '2' }] }]);
  const remote = await openStore(tcp);
  expect((await remote.contexts.list()).items).toMatchObject([{}, {}, {}, { title: 'talk' }]);
  await remote.close();
  using client = new CliRig({ onDisk: true });
  // The test before has taken them in already.
  const { added, kept, expected } = await takeIn(client, '--store', tcp);
  expect(added).toEqual([
    [0, 0],
    [0, 0],
  ]);
  expect(kept).toEqual(expected);
  rig.interrupt.abort();
  const { code, err } = (await ended)!;
  expect(code).toBe(0);
  expect(err).not.toContain('p%3Aw');
});

it('moves a store as the recipe of the guide says', { timeout: 60_000 }, async () => {
  const recipe = parseBlocks(readProject('docs/guide/recipes/to-postgresql.md'));
  const quipu = projectPath(readPackageJson().bin['quipu'] ?? '');
  const extra = { DATABASE_URL: await freshDatabase() };
  const shell = recipe.filter(({ info }) => info === 'sh');
  expect(await runShellBlocks(shell, { quipu }, extra)).toEqual([]);
});
