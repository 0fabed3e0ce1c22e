import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';

it('changes what is given, clears what is named and leaves the rest', async () => {
  using rig = new CliRig();
  await rig.run('context', 'create', '--title', 'T', '--kind', 'chat', '--label', 'a');
  const silent = await rig.run('context', 'update', '1', '--title', 'U', '--clear', 'labels');
  expect(silent).toEqual({ code: 0, out: '', err: '' });
  const { out } = await rig.run('context', 'update', '1', '--meta', '[1]', '--json');
  const context = JSON.parse(out) as object;
  expect(context).toMatchObject({ title: 'U', kind: 'chat', labels: [], meta: [1] });
});

it('refuses to change nothing, or one thing twice', async () => {
  using rig = new CliRig();
  await rig.run('context', 'create');
  expect(await rig.run('context', 'update', '1')).toMatchObject({ code: 2, out: '' });
  const twice = await rig.run('context', 'update', '1', '--label', 'a', '--clear', 'labels');
  expect(twice).toMatchObject({ code: 2 });
  expect(twice.err).toContain('labels');
  expect(await rig.run('context', 'update', '1', '--clear', 'head')).toMatchObject({ code: 2 });
});
