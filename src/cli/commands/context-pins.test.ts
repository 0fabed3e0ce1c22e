import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';

it('lists turns and reasons', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  expect((await rig.run('context', 'pins')).out).toBe('');
  await rig.run('context', 'pin', '5', '--reason', 'quoted');
  await rig.run('context', 'pin', '2');
  expect((await rig.run('context', 'pins')).out).toBe('TURN  REASON\n   2\n   5  quoted\n');
  expect((await rig.run('context', 'pins', '--json')).out).toBe(
    '{"turn":"2"}\n{"turn":"5","reason":"quoted"}\n',
  );
});
