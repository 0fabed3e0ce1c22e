import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';

it('says what would go, then frees it', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  await rig.run('context', 'fork', '2');
  await rig.run('context', 'rm', '1');
  const plan = await rig.run('gc', '--dry-run', '--grace', '0');
  expect(plan).toEqual({
    code: 0,
    out: 'in use           2 blobs\nspared as young  0 blobs\nwould go         4 blobs, 8 B\n',
    err: '',
  });
  const { out } = await rig.run('gc', '--grace', '0', '--all', '--json');
  expect(JSON.parse(out)).toMatchObject({ removedBlobs: 4, freedBytes: 8, dryRun: false });
  expect((await rig.run('context', 'turn', '3')).code).toBe(1);
  expect((await rig.run('context', 'turn', '2', '--raw')).out).toBe('t2');
});

it('spares what is young', async () => {
  using rig = new CliRig();
  await rig.feed('loose', 'blob', 'put', '-');
  const { out } = await rig.run('gc');
  expect(out).toMatch(/^spared as young +1 blobs$/m);
  expect(out).toMatch(/^removed +0 blobs, 0 B freed$/m);
});

it('wants a unit', async () => {
  using rig = new CliRig();
  await rig.run('init');
  expect(await rig.run('gc', '--grace', '10')).toMatchObject({ code: 2, out: '' });
});
