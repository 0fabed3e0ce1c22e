import { expect, it } from 'vitest';
import { escapeControls, toFacts, toPlainLine, toSize, toTable, toTime } from './text.ts';

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

it('shows control characters instead of obeying them', () => {
  expect(escapeControls('a\u001b[2Jb\nc\u202e')).toBe('a\\u001b[2Jb\\nc\\u202e');
});

it('cuts long text at a whole character and says so', () => {
  expect(toPlainLine('abcdef', 6)).toBe('abcdef');
  expect(toPlainLine('abcdefg', 6)).toBe('abcde…');
  expect(toPlainLine('🪢🪢🪢🪢', 3)).toBe('🪢🪢…');
});

it.each([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1.0 kB'],
  [99_949, '99.9 kB'],
  [99_950, '100 kB'],
  [999_500, '1.0 MB'],
  [1.5e9, '1.5 GB'],
  [2e18, '2000 PB'],
])('writes %d bytes as %s', (bytes, text) => {
  expect(toSize(bytes)).toBe(text);
});

it('writes times to the second and survives impossible ones', () => {
  expect(toTime(1_700_000_000_999)).toBe('2023-11-14T22:13:20Z');
  expect(toTime(9e15)).toBe('9000000000000000');
});
