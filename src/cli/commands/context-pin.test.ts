import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';

it('keeps a turn when its context goes', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  expect(await rig.run('context', 'pin', '2')).toEqual({ code: 0, out: '', err: '' });
  await rig.run('context', 'rm', '1');
  await rig.run('gc', '--grace', '0', '--all');
  expect((await rig.run('context', 'turn', '2', '--raw')).out).toBe('t2');
  expect((await rig.run('context', 'turn', '3', '--raw')).code).toBe(1);
});

it('needs a turn that is there', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  expect((await rig.run('context', 'pin', '99')).code).toBe(1);
  const { out } = await rig.run('context', 'pin', '1', '--reason', 'why not', '--json');
  expect(out).toBe('{"turn":"1","pinned":true}\n');
});
