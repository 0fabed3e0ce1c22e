import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';

it('prints the base and both sides', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  await rig.run('context', 'fork', '4');
  await rig.run('context', 'append', '2', '--type', 'note', '--text', 'other');
  expect(await rig.run('context', 'diff', '6', '7')).toEqual({
    code: 0,
    out: 'base   4\nleft   5 6\nright  7\n',
    err: '',
  });
  expect(JSON.parse((await rig.run('context', 'diff', '6', '7', '--json')).out)).toEqual({
    base: '4',
    left: ['5', '6'],
    right: ['7'],
  });
});

it('says when two turns have nothing in common', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  await rig.run('context', 'create');
  await rig.run('context', 'append', '2', '--type', 'note', '--text', 'alone');
  expect((await rig.run('context', 'diff', '1', '7')).out).toBe(
    'base   none\nleft   1\nright  7\n',
  );
});
