import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';

it('never overwrites, and wants a backup', async () => {
  using rig = new CliRig({ onDisk: true });
  await rig.run('init');
  await rig.run('backup', 'copy');
  mkdirSync(join(rig.cwd, 'full'));
  writeFileSync(join(rig.cwd, 'full', 'mine'), 'text');
  expect(await rig.run('restore', 'copy', 'full')).toMatchObject({ code: 2, out: '' });
  expect((await rig.run('restore', 'nowhere', 'new')).code).not.toBe(0);
  const { out } = await rig.run('restore', 'copy', 'new', '--json');
  expect(JSON.parse(out)).toHaveProperty('copiedBytes');
});
