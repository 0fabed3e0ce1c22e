import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { openOutput } from './files.ts';
import type { QuipuShell } from './command.ts';

const shellIn = (rig: CliRig): QuipuShell => ({ cwd: rig.cwd }) as QuipuShell;

it('replaces a file only when it is complete', async () => {
  using rig = new CliRig();
  const path = join(rig.cwd, 'x');
  writeFileSync(path, 'before');
  {
    await using output = await openOutput(shellIn(rig), { out: 'x', force: true });
    await output.write('one ');
    await output.write(Buffer.from('two'));
    expect(readFileSync(path, 'utf8')).toBe('before');
    await output.complete();
  }
  expect(readFileSync(path, 'utf8')).toBe('one two');
  expect(readdirSync(rig.cwd)).toEqual(['x']);
});

it('takes away what was begun when the work fails', async () => {
  using rig = new CliRig();
  {
    await using output = await openOutput(shellIn(rig), { out: 'x' });
    await output.write('half');
  }
  expect(readdirSync(rig.cwd)).toEqual([]);
});

it('leaves a file alone without --force, also one that comes meanwhile', async () => {
  using rig = new CliRig();
  const path = join(rig.cwd, 'x');
  {
    await using output = await openOutput(shellIn(rig), { out: 'x' });
    await output.write('mine');
    writeFileSync(path, 'theirs');
    await expect(output.complete()).rejects.toMatchObject({ code: 'EXISTS' });
  }
  await expect(openOutput(shellIn(rig), { out: 'x' })).rejects.toMatchObject({ code: 'EXISTS' });
  expect(readFileSync(path, 'utf8')).toBe('theirs');
  expect(readdirSync(rig.cwd)).toEqual(['x']);
});
