import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';

it('is silent when done, and says so as JSON', async () => {
  using rig = new CliRig();
  await rig.run('init');
  expect(await rig.run('checkpoint')).toEqual({ code: 0, out: '', err: '' });
  expect((await rig.run('checkpoint', '--json')).out).toBe('{"checkpointed":true}\n');
});

it('needs a store', async () => {
  using rig = new CliRig();
  expect(await rig.run('checkpoint')).toMatchObject({ code: 1, out: '' });
});
