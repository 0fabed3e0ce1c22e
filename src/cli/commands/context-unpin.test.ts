import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';

it('takes a pin back, once', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  await rig.run('context', 'pin', '2');
  expect((await rig.run('context', 'unpin', '2', '--json')).out).toBe(
    '{"turn":"2","pinned":false}\n',
  );
  expect(await rig.run('context', 'unpin', '2')).toMatchObject({ code: 1, out: '' });
});
