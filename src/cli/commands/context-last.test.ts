import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';

it('prints a table and how to see older turns', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  expect(await rig.run('context', 'last', '1', '-n', '2')).toEqual({
    code: 0,
    out:
      'TURN  DEPTH  TYPE  CREATED               SIZE  PAYLOAD\n' +
      '   5      4  note  2023-11-14T22:13:20Z   2 B  t5\n' +
      '   6      5  note  2023-11-14T22:13:20Z   2 B  t6\n',
    err: 'older: quipu context before 1 5\n',
  });
});

it('prints one JSON object a line, without payloads when told', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  const { out, err } = await rig.run('context', 'last', '1', '--json', '--no-payload');
  const turns = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { payload?: string });
  expect(turns.map((turn) => turn.payload)).toEqual(Array(6).fill(undefined));
  expect(err).toBe('');
});

it('cuts a page by bytes', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  const { out, err } = await rig.run('context', 'last', '1', '--json', '--max-bytes', '5');
  expect(out.trimEnd().split('\n')).toHaveLength(2);
  expect(JSON.parse(err)).toEqual({ cursor: '5' });
});

it('shows what is special about a turn', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  await rig.run('context', 'patch', '5', '--text', 'better');
  await rig.run('context', 'tombstone', '6', '--reason', 'secret');
  const { out } = await rig.run('context', 'last', '1', '-n', '2');
  expect(out).toContain('(patched) better\n');
  expect(out).toContain('(tombstone: secret)\n');
  expect((await rig.run('context', 'last', '1', '--as', 'original')).out).toContain('  t6\n');
});

it('prints nothing for an empty context, and refuses a page that is too long', async () => {
  using rig = new CliRig();
  await rig.run('context', 'create');
  expect(await rig.run('context', 'last', '1')).toEqual({ code: 0, out: '', err: '' });
  expect(await rig.run('context', 'last', '1', '-n', '10001')).toMatchObject({ code: 2, out: '' });
});
