import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CliRig } from '../../test/cli/rig.ts';
import { readInput, readWhole, toFileError } from './input.ts';
import type { QuipuShell } from './shell.ts';

const read = (rig: CliRig, path: string, limit: number): Promise<Uint8Array> =>
  readWhole(readInput({ cwd: rig.cwd } as QuipuShell, path), limit);

it('reads a file up to the limit and not past it', async () => {
  using rig = new CliRig();
  writeFileSync(join(rig.cwd, 'x'), 'abc');
  expect(Buffer.from(await read(rig, 'x', 3)).toString()).toBe('abc');
  await expect(read(rig, 'x', 2)).rejects.toMatchObject({ code: 'TOO_LARGE', data: { limit: 2 } });
});

it('says what is wrong with a file', async () => {
  using rig = new CliRig();
  mkdirSync(join(rig.cwd, 'dir'));
  writeFileSync(join(rig.cwd, 'x'), '');
  await expect(read(rig, 'none', 9)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(read(rig, 'dir', 9)).rejects.toMatchObject({ code: 'INVALID' });
  await expect(read(rig, 'x/y', 9)).rejects.toMatchObject({
    code: 'IO',
    data: { path: 'x/y', errno: 'ENOTDIR' },
  });
});

it('leaves alone what is not about a file', () => {
  const fault = new TypeError('a fault');
  expect(toFileError(fault, 'x')).toBe(fault);
});
