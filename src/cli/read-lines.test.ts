import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readLines } from './read-lines.ts';

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
