import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';

it('lists patches, oldest first', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  expect(await rig.run('context', 'patches', '2')).toEqual({ code: 0, out: '', err: '' });
  await rig.run('context', 'patch', '2', '--text', 'b');
  await rig.run('context', 'tombstone', '2', '--reason', 'gone');
  expect((await rig.run('context', 'patches', '2')).out).toBe(
    'SEQ  WHAT       CREATED               ENCODING  SIZE\n' +
      '  1  patch      2023-11-14T22:13:20Z  text       1 B\n' +
      '  2  tombstone  2023-11-14T22:13:20Z  text       4 B\n',
  );
  const { out } = await rig.run('context', 'patches', '2', '--json');
  expect(
    out
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { seq: number }).seq),
  ).toEqual([1, 2]);
});
