import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';

it('erases a blob that nobody uses', async () => {
  using rig = new CliRig();
  const hash = (await rig.feed('loose', 'blob', 'put', '-')).out.trim();
  expect(await rig.run('blob', 'erase', hash, '--reason', 'why')).toEqual({
    code: 0,
    out: `${hash}\n`,
    err: '',
  });
  expect((await rig.run('blob', 'stat', hash)).code).toBe(1);
  expect((await rig.run('blob', 'erase', hash, '--reason', 'why')).code).toBe(1);
});

it('names the turns that use it', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  const hash = (await rig.feed('t3', 'blob', 'put', '-')).out.trim();
  const { code, out, err } = await rig.run('blob', 'erase', hash, '--reason', 'why');
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toContain('used by turns 3;');
  const all = await rig.run('blob', 'erase', hash, '--reason', 'why', '--everywhere', '--json');
  expect(JSON.parse(all.out)).toEqual({ hash, erased: true, usedBy: ['3'], neededBy: [] });
});
