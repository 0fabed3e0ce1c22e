import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';

it('is silent when done, and says so as JSON', async () => {
  using rig = new CliRig();
  await rig.run('init');
  expect(await rig.run('reindex')).toEqual({ code: 0, out: '', err: '' });
  expect((await rig.run('reindex', '--json')).out).toBe('{"reindexed":true}\n');
});

it('needs a store', async () => {
  using rig = new CliRig();
  expect(await rig.run('reindex')).toMatchObject({ code: 1, out: '' });
});
