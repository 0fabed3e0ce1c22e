import { CliRig } from '../../../test/cli/rig.ts';
import { TokenAccess } from '../../server/access/token-access.ts';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';

let rig: CliRig;
beforeEach(async () => {
  rig = new CliRig({ onDisk: true });
  await rig.run('init');
  return () => rig[Symbol.dispose]();
});

it('creates tokens that a server knows, and keeps only their hashes', async () => {
  const { code, out, err } = await rig.run('token', 'create', 'laptop');
  expect(code).toBe(0);
  expect(err).toContain('shown once');
  const path = join(rig.cwd, '.quipu/tokens.json');
  const access = await TokenAccess.open({ path, needed: true });
  expect(await access.identify(out.trim())).toMatchObject({ name: 'laptop', scope: 'write' });
  access.close();
  expect(readFileSync(path, 'utf8')).not.toContain(out.trim().slice(6, 20));
});

it('lists them without their hashes', async () => {
  await rig.run('token', 'create', 'a', '--scope', 'read', '--expires', '90d');
  const made = await rig.run('token', 'create', 'b', '--scope', 'admin', '--json');
  const { token } = JSON.parse(made.out) as { token: string };
  const { out } = await rig.run('token', 'list');
  expect(out.split('\n')).toEqual([
    expect.stringMatching(/^NAME +SCOPE +ENDS +CREATED +EXPIRES +STATE$/),
    expect.stringMatching(/^a +read +….{4} +2023-11-14T22:13:20Z +2024-02-12T22:13:20Z +good$/),
    expect.stringMatching(/^b +admin +….{4} +2023-11-14T22:13:20Z +never +good$/),
    '',
  ]);
  expect(out).toContain(`…${token.slice(-4)}`);
  const [, second] = (await rig.run('token', 'list', '--json')).out.trimEnd().split('\n');
  expect(Object.keys(JSON.parse(second!) as object)).toEqual([
    'name',
    'scope',
    'ends',
    'createdAt',
  ]);
});

it('revokes by name', async () => {
  await rig.run('token', 'create', 'a');
  expect(await rig.run('token', 'revoke', 'a')).toEqual({ code: 0, out: '', err: '' });
  expect(await rig.run('token', 'revoke', 'a')).toMatchObject({ code: 1 });
  expect((await rig.run('token', 'list', '--json')).out).toBe('');
});

it.each([
  ['a name that is taken', ['create', 'a'], 1],
  ['a name with blanks', ['create', 'a b'], 2],
  ['a scope that does not exist', ['create', 'b', '--scope', 'root'], 2],
  ['an expiry without a unit', ['create', 'b', '--expires', '90'], 2],
  ['an expiry of nothing', ['create', 'b', '--expires', '0'], 2],
  ['a server, which keeps its own', ['create', 'b', '--store', 'quipu://127.0.0.1:1'], 2],
  ['a store that is not there', ['create', 'b', '--store', 'other'], 1],
])('refuses %s', async (_, argv, code) => {
  await rig.run('token', 'create', 'a');
  expect(await rig.run('token', ...argv)).toMatchObject({ code, out: '' });
  expect((await rig.run('token', 'list', '--json')).out.trimEnd().split('\n')).toHaveLength(1);
  expect(existsSync(join(rig.cwd, 'other'))).toBe(false);
});

it('keeps them in another file when told', async () => {
  await rig.run('token', 'create', 'a', '--token-file', 'mine.json');
  expect(existsSync(join(rig.cwd, 'mine.json'))).toBe(true);
  expect((await rig.run('token', 'list', '--json')).out).toBe('');
  const { out } = await rig.run('token', 'list', '--token-file', 'mine.json', '--json');
  expect(out).toContain('"name":"a"');
});
