import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';

it('prints what was erased, and shows the reason from then on', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  const before = JSON.parse((await rig.run('context', 'turn', '2', '--json')).out) as object;
  const { code, out } = await rig.run('context', 'erase', '2', '--reason', 'a password');
  expect(code).toBe(0);
  expect(before).toMatchObject({ payloadHash: out.trim() });
  const after = JSON.parse((await rig.run('context', 'turn', '2', '--json')).out) as object;
  expect(after).toMatchObject({ tombstone: true, reason: 'a password' });
  expect(after).not.toHaveProperty('payloadHash');
  expect((await rig.run('blob', 'get', out.trim())).code).toBe(1);
});

it('names the others that use the bytes, and erases them all when told', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  await rig.run('context', 'append', '1', '--type', 'note', '--text', 't2');
  const refused = await rig.run('context', 'erase', '2', '--reason', 'why');
  expect(refused).toMatchObject({ code: 1, out: '' });
  expect(refused.err).toContain('used by turns 7;');
  const json = await rig.run('context', 'erase', '2', '--reason', 'why', '--json');
  expect(JSON.parse(json.out)).toMatchObject({
    turn: '2',
    erased: false,
    blobs: [{ erased: false, usedBy: ['2', '7'] }],
  });
  const all = await rig.run('context', 'erase', '2', '--reason', 'why', '--everywhere', '--json');
  expect(JSON.parse(all.out)).toMatchObject({ erased: true });
  expect((await rig.run('context', 'turn', '7', '--json')).out).toContain('"tombstone":true');
});

it('needs a reason', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  expect(await rig.run('context', 'erase', '2')).toMatchObject({ code: 2, out: '' });
});
