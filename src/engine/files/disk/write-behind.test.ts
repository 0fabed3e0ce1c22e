import { describe, expect, it } from 'vitest';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import { readThrough, sizeThrough } from './write-behind.ts';

const ABC: JournalWrite = { kind: 'bytes', path: 'x', offset: 2, data: Buffer.from('abc') };
const GONE: JournalWrite = { kind: 'remove', path: 'x' };

function read(waiting: readonly JournalWrite[], text: string, position: number, length: number) {
  const into = Buffer.alloc(length, '?');
  const got = Buffer.from(text).subarray(position).copy(into);
  return into.subarray(0, readThrough(waiting, 'x', { into, position, got })).toString('latin1');
}

describe('readThrough', () => {
  it('lays writes over what the file holds', () => {
    expect(read([ABC], '0123456', 0, 7)).toBe('01abc56');
    expect(read([ABC], '0123456', 3, 2)).toBe('bc');
    expect(read([ABC], '0', 4, 9)).toBe('c');
  });

  it('fills what lies between the end of the file and a write with zeros', () => {
    expect(read([ABC], '', 0, 9)).toBe('\0\0abc');
    expect(read([ABC], '', 0, 1)).toBe('\0');
  });

  it('sees a removal, and what is written after it', () => {
    expect(read([GONE], '0123456', 0, 7)).toBe('');
    expect(read([GONE, ABC], '0123456', 0, 7)).toBe('\0\0abc');
  });

  it('leaves other files alone', () => {
    expect(
      read(
        [
          { ...ABC, path: 'y' },
          { ...GONE, path: 'y' },
        ],
        '01',
        0,
        7,
      ),
    ).toBe('01');
  });
});

describe('sizeThrough', () => {
  it('follows growth, removal and replacement in their order', () => {
    expect(sizeThrough([ABC], 'x', 0)).toBe(5);
    expect(sizeThrough([ABC], 'x', 9)).toBe(9);
    expect(sizeThrough([GONE], 'x', 9)).toBe(0);
    expect(sizeThrough([GONE, ABC], 'x', 9)).toBe(5);
    expect(sizeThrough([{ kind: 'whole', path: 'x', data: Buffer.from('ab') }], 'x', 9)).toBe(2);
    expect(sizeThrough([ABC, GONE], 'y', 7)).toBe(7);
  });
});
