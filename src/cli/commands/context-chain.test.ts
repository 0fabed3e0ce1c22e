import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { payloadsOf, sixTurns } from '../../../test/cli/six-turns.ts';

it('prints every turn from the root to the one named, on any branch', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  expect(payloadsOf((await rig.run('context', 'chain', '4')).out)).toEqual([
    't1',
    't2',
    't3',
    't4',
  ]);
  await rig.run('context', 'fork', '2');
  await rig.run('context', 'append', '2', '--type', 'note', '--text', 'b');
  await rig.run('context', 'rm', '2');
  expect(payloadsOf((await rig.run('context', 'chain', '7')).out)).toEqual(['t1', 't2', 'b']);
});

it('writes a file, and says which turn is missing', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  expect(await rig.run('context', 'chain', '2', '--out', 'out.ndjson')).toMatchObject({ code: 0 });
  expect(payloadsOf(readFileSync(join(rig.cwd, 'out.ndjson'), 'utf8'))).toEqual(['t1', 't2']);
  expect(await rig.run('context', 'chain', '99')).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('there is no turn 99') as string,
  });
});
