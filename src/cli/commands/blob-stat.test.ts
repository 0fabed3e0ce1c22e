import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';

it('prints sizes', async () => {
  using rig = new CliRig();
  const hash = (await rig.feed('abc', 'blob', 'put', '-', '--sha256')).out.trim();
  const { code, out } = await rig.run('blob', 'stat', hash);
  expect(code).toBe(0);
  expect(out).toContain(`hash    ${hash}\nsize    3 B\n`);
  const sum = 'blob:sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
  expect(JSON.parse((await rig.run('blob', 'stat', sum, '--json')).out)).toMatchObject({
    hash,
    size: 3,
    chunks: 0,
  });
});

it('says which blob is missing', async () => {
  using rig = new CliRig();
  await rig.run('init');
  const hash = '0'.repeat(64);
  expect(await rig.run('blob', 'stat', hash)).toEqual({
    code: 1,
    out: '',
    err: `quipu: there is no blob ${hash}\n`,
  });
});
