import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';

it('prints counts for people and for machines', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  const { code, out } = await rig.run('stats');
  expect(code).toBe(0);
  expect(out).toMatch(/^turns +6$/m);
  expect(out).toMatch(/^payloads +12 B written$/m);
  const found = JSON.parse((await rig.run('stats', '--json')).out) as object;
  expect(found).toMatchObject({ contexts: 1, turns: 6, logicalBytes: 12 });
});
