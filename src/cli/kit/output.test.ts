import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CliRig } from '../../../test/cli/rig.ts';
import { openOutput } from './output.ts';
import type { QuipuShell } from './command.ts';

const shellIn = (rig: CliRig): QuipuShell => ({ cwd: rig.cwd }) as QuipuShell;

it('replaces a file only when it is complete', async () => {
  using rig = new CliRig();
  const path = join(rig.cwd, 'x');
  writeFileSync(path, 'before');
  {
    await using output = await openOutput(shellIn(rig), 'x');
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
    await using output = await openOutput(shellIn(rig), 'x');
    await output.write('half');
  }
  expect(readdirSync(rig.cwd)).toEqual([]);
});
