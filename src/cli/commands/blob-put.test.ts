import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';

it('prints the hash of a file or of standard input', async () => {
  using rig = new CliRig();
  writeFileSync(join(rig.cwd, 'a.txt'), 'abc');
  const { code, out, err } = await rig.run('blob', 'put', 'a.txt');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toBe('6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85\n');
  const again = await rig.feed('abc', 'blob', 'put', '-', '--sha256', '--json');
  expect(JSON.parse(again.out)).toMatchObject({
    hash: out.trim(),
    sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    size: 3,
    existed: true,
  });
});

it('names a file that is missing and makes no store', async () => {
  using rig = new CliRig();
  expect(await rig.run('blob', 'put', 'none')).toEqual({
    code: 1,
    out: '',
    err: 'quipu: there is no file none\n',
  });
  expect((await rig.run('stats')).err).toContain('quipu init');
});

it('shows a bar on a terminal', async () => {
  using rig = new CliRig();
  rig.isTerminal = true;
  writeFileSync(join(rig.cwd, 'a.txt'), 'abc');
  const { err } = await rig.run('blob', 'put', 'a.txt');
  expect(err).toContain('100% 3 B');
});

it('refuses a directory and makes no store', async () => {
  using rig = new CliRig();
  expect(await rig.run('blob', 'put', '.')).toMatchObject({ code: 2, out: '' });
  expect((await rig.run('stats')).err).toContain('quipu init');
});
