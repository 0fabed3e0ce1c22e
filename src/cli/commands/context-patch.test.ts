import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';

it('prints the number of the patch', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  expect(await rig.run('context', 'patch', '2', '--text', 'b')).toEqual({
    code: 0,
    out: '1\n',
    err: '',
  });
  const { out } = await rig.run('context', 'patch', '2', '--json-payload', '[2]', '--json');
  expect(JSON.parse(out)).toMatchObject({ seq: 2, turn: '2', tombstone: false, encoding: 'json' });
});

it('compares the newest patch when told', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  const patch = ['context', 'patch', '2', '--text', 'b', '--expect-seq', '0'];
  expect(await rig.run(...patch)).toMatchObject({ code: 0 });
  expect(await rig.run(...patch)).toMatchObject({ code: 1, out: '' });
});

it('needs one payload', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  expect(await rig.run('context', 'patch', '2')).toMatchObject({ code: 2, out: '' });
});
