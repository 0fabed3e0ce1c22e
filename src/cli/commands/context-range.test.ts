import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { payloadsOf, sixTurns } from '../../../test/cli/six-turns.ts';

it('prints turns by depth, the last one not included', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  expect(payloadsOf((await rig.run('context', 'range', '1', '1', '4', '--json')).out)).toEqual([
    't2',
    't3',
    't4',
  ]);
  expect((await rig.run('context', 'range', '1', '5', '100')).out).toContain('  t6\n');
});

it('says where to go on when a page is cut', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  const cut = await rig.run('context', 'range', '1', '1', '6', '--max-bytes', '4');
  expect(cut.err).toBe('more: quipu context range 1 3 6\n');
  const json = await rig.run('context', 'range', '1', '1', '6', '--max-bytes', '4', '--json');
  expect(JSON.parse(json.err)).toEqual({ nextDepth: 3 });
});

it.each([
  ['4', '2'],
  ['x', '2'],
  ['0', '2.5'],
])('refuses %s to %s', async (from, to) => {
  using rig = new CliRig();
  await sixTurns(rig);
  expect(await rig.run('context', 'range', '1', from, to)).toMatchObject({ code: 2, out: '' });
});
