import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';

it('prints the facts of a turn', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  const { code, out, err } = await rig.run('context', 'turn', '2');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/^turn {6}2\ncontext {3}1\nparent {4}1\ndepth {5}1\n/);
  expect(out).toMatch(/\nhash {6}[0-9a-f]{64}\npayload {3}t2\n$/);
});

it('prints bytes and nothing else with --raw', async () => {
  using rig = new CliRig();
  await rig.run('context', 'create');
  const bytes = Uint8Array.of(0, 0xff, 0x0a);
  await rig.feed(bytes, 'context', 'append', '1', '--type', 'x', '--stdin', '--encoding', 'bytes');
  await rig.run('context', 'turn', '1', '--raw');
  expect([...rig.printed]).toEqual([...bytes]);
});

it('reads as of a patch', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  for (const text of ['b', 'c']) await rig.run('context', 'patch', '2', '--text', text);
  const read = async (as: string): Promise<string> =>
    (await rig.run('context', 'turn', '2', '--raw', '--as', as)).out;
  expect([await read('original'), await read('1'), await read('2'), await read('latest')]).toEqual([
    't2',
    'b',
    'c',
    'c',
  ]);
  expect(await rig.run('context', 'turn', '2', '--as', 'newest')).toMatchObject({ code: 2 });
});

it('says which turn is missing', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  expect(await rig.run('context', 'turn', '7')).toEqual({
    code: 1,
    out: '',
    err: 'quipu: there is no turn 7\n',
  });
});
