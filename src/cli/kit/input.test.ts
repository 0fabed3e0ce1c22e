import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import fc from 'fast-check';
import { CliRig } from '../../../test/cli/rig.ts';
import { readInput, readLines, readWhole, toFileError } from './files.ts';
import type { QuipuShell } from './command.ts';

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

async function* cut(text: string, at: readonly number[]): AsyncIterable<Uint8Array> {
  const bytes = Buffer.from(text);
  const ends = [...at.filter((end) => end < bytes.length), bytes.length];
  let start = 0;
  for (const end of ends.toSorted((a, b) => a - b)) {
    yield bytes.subarray(start, end);
    start = end;
  }
}

async function linesOf(source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of readLines(source, maxBytes)) lines.push(Buffer.from(line).toString());
  return lines;
}

it('gives the same lines wherever the bytes are cut', async () => {
  const lines = fc.array(fc.string({ unit: 'grapheme' }).filter((line) => !line.includes('\n')));
  await fc.assert(
    fc.asyncProperty(lines, fc.array(fc.nat(60)), async (given, at) => {
      const text = given.map((line) => `${line}\n`).join('');
      expect(await linesOf(cut(text, at), 10_000)).toEqual(given);
    }),
  );
});

it('takes a last line without a line feed', async () => {
  expect(await linesOf(cut('a\n\nb', [2]), 10)).toEqual(['a', '', 'b']);
});

it('gives up on a line that is too long', async () => {
  expect(await linesOf(cut('12345\n12345', [3]), 5)).toEqual(['12345', '12345']);
  await expect(linesOf(cut('123456', [3]), 5)).rejects.toMatchObject({ code: 'TOO_LARGE' });
});
