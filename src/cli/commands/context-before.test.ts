import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { payloadsOf, sixTurns } from '../../../test/cli/six-turns.ts';

it('pages back with the cursor until the root', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  const page = await rig.run('context', 'before', '1', '5', '-n', '2', '--json');
  expect(payloadsOf(page.out)).toEqual(['t3', 't4']);
  expect(JSON.parse(page.err)).toEqual({ cursor: '3' });
  const rest = await rig.run('context', 'before', '1', '3', '--json');
  expect(payloadsOf(rest.out)).toEqual(['t1', 't2']);
  expect(rest.err).toBe('');
});

it('names a turn that does not belong to the context', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  await rig.run('context', 'create');
  expect(await rig.run('context', 'before', '2', '3')).toMatchObject({ code: 1, out: '' });
});
