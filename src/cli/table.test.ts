import { expect, it } from 'vitest';
import { toFacts, toTable } from './table.ts';

it('pads columns and leaves no trailing spaces', () => {
  const rows = [
    ['1', 'first', ''],
    ['10', 'a\tb', 'x'],
  ];
  expect(toTable(['ID', 'NAME', 'NOTE'], rows, ['ID'])).toBe(
    'ID  NAME   NOTE\n' + ' 1  first\n' + '10  a\\tb   x\n',
  );
});

it('prints facts one a line', () => {
  expect(
    toFacts([
      ['turns', '3'],
      ['disk bytes', '12 kB'],
    ]),
  ).toBe('turns       3\ndisk bytes  12 kB\n');
});
