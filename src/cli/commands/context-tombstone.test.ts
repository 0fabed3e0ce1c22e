import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';

it('hides the payload and shows the reason', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  expect(await rig.run('context', 'tombstone', '2', '--reason', 'mistake')).toEqual({
    code: 0,
    out: '1\n',
    err: '',
  });
  const { out } = await rig.run('context', 'turn', '2', '--json');
  const turn = JSON.parse(out) as object;
  expect(turn).toMatchObject({ tombstone: true, reason: 'mistake', size: 0 });
  expect(turn).not.toHaveProperty('payload');
});

it('needs a reason', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  expect(await rig.run('context', 'tombstone', '2')).toMatchObject({ code: 2, out: '' });
});
