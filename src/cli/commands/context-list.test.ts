import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';

it('prints a table, newest first, and how to go on', async () => {
  using rig = new CliRig();
  await rig.run('context', 'create', '--title', 'first', '--label', 'x');
  await rig.run('context', 'create', '--title', 'second \u202e', '--label', 'y', '--label', 'z');
  const { code, out, err } = await rig.run('context', 'list');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out.split('\n')).toEqual([
    'CONTEXT  HEAD  DEPTH  UPDATED               TITLE          LABELS',
    '      2     0      0  2023-11-14T22:13:20Z  second \\u202e  y,z',
    '      1     0      0  2023-11-14T22:13:20Z  first          x',
    '',
  ]);

  const page = await rig.run('context', 'list', '-n', '1');
  const [, cursor = ''] = /^more: --cursor (\S+)\n$/.exec(page.err) ?? [];
  const rest = await rig.run('context', 'list', '--cursor', cursor, '--json');
  expect(JSON.parse(rest.out)).toMatchObject({ id: '1', title: 'first' });
});

it('filters by label, and prints one JSON object a line', async () => {
  using rig = new CliRig();
  for (const label of ['x', 'y', 'x']) await rig.run('context', 'create', '--label', label);
  const { out, err } = await rig.run('context', 'list', '--label', 'x', '--json', '-n', '1');
  expect(JSON.parse(out)).toMatchObject({ id: '3' });
  expect(JSON.parse(err)).toHaveProperty('cursor');
});

it('says what to do when there is no store', async () => {
  using rig = new CliRig();
  const { code, out, err } = await rig.run('context', 'list');
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(/^quipu: there is no store at .*; create one with "quipu init"\n$/);
});
