import { describe, expect, it } from 'vitest';
import type { Rounds } from '../../bench/bench.ts';
import { PEERS } from '../../bench/peers/peers.ts';
import { fillIn, toPeersTable } from '../../bench/peers/report.ts';
import type { Result } from '../../bench/workloads/workload.ts';
import { readProject } from '../support/project.ts';

const MARKS = /<!-- peers: .*-->\n\n([^]*?)\n\n<!-- \/peers -->/;

describe('the table of peers', () => {
  const [quipu, sqlite] = PEERS;
  const figures: Result = { appendMs: 1, forkMs: 2, readMs: 4, diskBytes: 1e6, bareBytes: 5e6 };
  const other: Result = { appendMs: 0.5, forkMs: 2.05, readMs: 60, diskBytes: 3e6, bareBytes: 7e4 };
  const table = (theirs: Result[]): string => {
    const rounds: Rounds = new Map([
      ['quipu', theirs.map(() => figures)],
      ['sqlite', theirs],
    ]);
    return toPeersTable([quipu!, sqlite!], rounds);
  };

  it('says who is better, and by which factor', () => {
    const cells = table([other]).split('\n').at(-1)?.split(' | ').slice(1, 6);
    expect(cells).toEqual([
      '0.50 ms (2.0x faster)',
      '2.05 ms (same)',
      '60 ms (15x slower)',
      '3.00 MB (3.0x more)',
      '70 KB',
    ]);
  });

  it('claims nothing that the rounds do not agree about', () => {
    const append = (...times: number[]): string | undefined =>
      table(times.map((appendMs) => ({ ...other, appendMs })))
        .split('\n')
        .at(-1)
        ?.split(' | ')[1];
    expect(append(2, 2, 2, 2, 0.5)).toBe('2.00 ms (2.0x slower)');
    expect(append(2, 2, 2, 0.5, 0.5)).toBe('2.00 ms (unclear)');
  });

  it.each(['appendMs', 'forkMs', 'readMs', 'diskBytes', 'bareBytes'])(
    'is refused without %s',
    (name) => {
      expect(() => table([{ ...other, [name]: Number.NaN }])).toThrow(
        `no figure ${name} of sqlite`,
      );
      const { [name]: _, ...rest } = other;
      expect(() => table([rest])).toThrow(`no figure ${name} of sqlite`);
      expect(() => table([])).toThrow('no figure appendMs of quipu');
    },
  );

  it('goes between two marks, and nowhere else', () => {
    const document = readProject('README.md');
    const filled = fillIn(document, '| new |');
    expect(MARKS.exec(filled)?.[1]).toBe('| new |');
    expect(filled.replace(MARKS, '')).toBe(document.replace(MARKS, ''));
    expect(fillIn(filled, '| new |')).toBe(filled);
    expect(() => fillIn('# Nothing', '| new |')).toThrow(/the document has no/);
  });

  it('is the same in the README and with the method, and has every peer', () => {
    const shown = MARKS.exec(readProject('README.md'))?.[1] ?? '';
    const rows = shown.split('\n').slice(2);
    expect(rows.map((row) => row.split('|')[1]?.trim())).toEqual(PEERS.map(({ title }) => title));
    expect(readProject('bench/PEERS.md')).toContain(shown);
  });
});
