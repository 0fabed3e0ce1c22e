import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';

it('copies a store that can be restored, and the second time only what is new', async () => {
  using rig = new CliRig({ onDisk: true });
  await sixTurns(rig);
  const first = await rig.run('backup', 'copy', '--json');
  expect(first).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(first.out)).toMatchObject({ reusedBytes: 0 });
  const second = await rig.run('backup', 'copy');
  expect(second.out).toMatch(/^files +\d+\ncopied +.*\nthere before +[1-9].*\n$/);
  expect(await rig.run('restore', 'copy', 'again')).toMatchObject({ code: 0, err: '' });
  const found = await rig.run('--store', 'again', 'context', 'last', '1', '--json');
  expect(found.out.trimEnd().split('\n')).toHaveLength(6);
});

it('says why when it cannot', async () => {
  using rig = new CliRig();
  await rig.run('init');
  const { code, err } = await rig.run('backup', 'copy');
  expect(code).toBe(1);
  expect(err).toContain('the model keeps no files');
});
