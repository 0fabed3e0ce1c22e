import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';

async function threeContexts(rig: CliRig): Promise<void> {
  for (const label of ['run', 'pinned', 'run']) {
    const made = await rig.run('context', 'create', '--title', `a ${label}`, '--label', label);
    await rig.run('context', 'append', made.out.trim(), '--type', 'note', '--text', 'ten bytes.');
  }
}

it('says which would go, then removes them', async () => {
  using rig = new CliRig();
  await threeContexts(rig);
  const plan = await rig.run('retain', '--max-size', '15B', '--dry-run');
  expect(plan.code).toBe(0);
  expect(plan.out).toBe(
    [
      'CONTEXT  UPDATED               SIZE  TITLE',
      '      3  2023-11-14T22:13:20Z  10 B  a run',
      '      1  2023-11-14T22:13:20Z  10 B  a run',
      '2 would go, 1 stay, 1 of them pinned',
      '',
    ].join('\n'),
  );
  const done = await rig.run('retain', '--max-size', '15B', '--keep', '1', '--json');
  expect(JSON.parse(done.out)).toMatchObject({ removed: [{ id: '1' }], kept: 2, dryRun: false });
  expect((await rig.run('context', 'show', '1')).code).toBe(1);
});

it('keeps what is young, and needs a limit', async () => {
  using rig = new CliRig();
  await threeContexts(rig);
  const { out } = await rig.run('retain', '--max-age', '90d', '--label', 'run');
  expect(out).toBe('0 removed, 2 stay, 0 of them pinned\n');
  expect(await rig.run('retain')).toMatchObject({ code: 2, out: '' });
});
