import { describe, expect, it } from 'vitest';
import { findForbidden } from './words.ts';

const whats = (text: string): string[] => findForbidden(text, true).map(({ what }) => what);

describe('findForbidden', () => {
  it('finds reminders and paths that only one machine has', () => {
    const words = ['TO', 'DO'].join('');
    expect(findForbidden(`fine\n// ${words}: later`, false)).toEqual([
      { line: 2, what: 'an open reminder' },
    ]);
    expect(whats(`see ${['..', 'shared', 'x'].join('/')}`)).toEqual([
      'a path outside of the project',
    ]);
    expect(whats(`cd ${['', 'home', 'me'].join('/')}`)).toEqual(['a path of one machine']);
    expect(whats(`"${['', 'work', 'main'].join('/')}"`)).toEqual(['a path of one machine']);
  });

  it('leaves addresses and ordinary words alone', () => {
    expect(whats('https://example.org/home/page and a/work/b')).toEqual([]);
    expect(whats('the todos of a person')).toEqual([]);
  });

  it('finds code that was commented out, and leaves sentences and byte maps alone', () => {
    const commentedOut = ['const a = 1;', 'if (a) {', 'store.close();', 'return a;'];
    for (const code of commentedOut) {
      expect(whats(`  // ${code}`), code).toEqual(['code that was commented out']);
    }
    expect(whats('// Return early; the rest follows.')).toEqual([]);
    expect(whats('// | u32    | u32    | u64             | len bytes   |')).toEqual([]);
    expect(whats('// - Frames are numbered from 1 without gaps;')).toEqual([]);
  });
});
