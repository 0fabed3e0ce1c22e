import { expect, it } from 'vitest';
import { eachName } from './each-name.ts';

it.each([0, 1, 999, 1000, 1001, 2000])('yields each of %i names once, in order', async (count) => {
  const names = Array.from({ length: count }, (_, n) => String(n).padStart(5, '0'));
  const seen: string[] = [];
  const list = async (limit: number, after = ''): Promise<string[]> =>
    names.filter((name) => name > after).slice(0, limit);
  for await (const name of eachName(list)) seen.push(name);
  expect(seen).toEqual(names);
});
