import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';

it('makes a store here, also when there is one at home', async () => {
  using rig = new CliRig();
  mkdirSync(join(rig.cwd, 'home', '.quipu'), { recursive: true });
  const place = join(rig.cwd, '.quipu');
  expect(await rig.run('init')).toEqual({ code: 0, out: `${place}\n`, err: '' });
  expect(await rig.run('init')).toEqual({
    code: 0,
    out: `${place}\n`,
    err: 'quipu: it was there before\n',
  });
});

it('takes the place from the option or the environment', async () => {
  using rig = new CliRig();
  rig.env['QUIPU_STORE'] = 'named';
  const made = await rig.run('init', '--json');
  expect(JSON.parse(made.out)).toEqual({ store: join(rig.cwd, 'named'), created: true });
  expect((await rig.run('--store', 'other', 'init')).out).toBe(`${join(rig.cwd, 'other')}\n`);
});
