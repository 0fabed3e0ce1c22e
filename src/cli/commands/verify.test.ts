import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';

it('says what it read when all is well', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  const { code, out, err } = await rig.run('verify');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/^turns +6$/m);
  expect(out).toMatch(/^problems +0$/m);
  const report = JSON.parse((await rig.run('verify', '--repair', '--json')).out) as object;
  expect(report).toMatchObject({ ok: true, checked: { turns: 6, blobs: 6 }, problems: [] });
});

it('lists what is wrong and where, and fails', async () => {
  using rig = new CliRig();
  await sixTurns(rig);
  rig.damageBlob();
  const { code, out, err } = await rig.run('verify');
  expect(code).toBe(1);
  expect(out).toMatch(/^problems +1$/m);
  expect(out).toMatch(/^HOW BAD +FILE +OFFSET +ID +WHAT\nlost +blobs +0 +[0-9a-f]{64} +the bytes/m);
  expect(err).toBe('quipu: the store has 1 problem; restore what is lost from a backup\n');
  const json = await rig.run('verify', '--json');
  expect(JSON.parse(json.out)).toMatchObject({ ok: false, problems: [{ severity: 'lost' }] });
  expect(JSON.parse(json.err)).toMatchObject({ error: { code: 'CORRUPT' } });
});
