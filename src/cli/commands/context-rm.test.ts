import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';

it('removes a context once, and leaves its forks', async () => {
  using rig = new CliRig();
  await rig.run('context', 'create');
  await rig.run('context', 'append', '1', '--type', 'note', '--text', 'hi');
  await rig.run('context', 'fork', '1');
  expect(await rig.run('context', 'rm', '1')).toEqual({ code: 0, out: '', err: '' });
  expect(await rig.run('context', 'rm', '1')).toMatchObject({ code: 1, out: '' });
  expect((await rig.run('context', 'last', '2', '--json')).out).toContain('"payload":"hi"');
  const removed = await rig.run('context', 'rm', '2', '--json');
  expect(JSON.parse(removed.out)).toEqual({ id: '2', removed: true });
});
