import { describe, expect, it } from 'vitest';
import { difference, ratio } from '../../bench/bench.ts';
import { percentile } from '../../bench/figures.ts';
import { parseOptions } from '../../bench/options.ts';
import { planRounds } from '../../bench/plan-rounds.ts';
import { linePlot, niceStep } from '../../bench/report/line-plot.ts';
import { toTable } from '../../bench/report/table.ts';

describe('planRounds', () => {
  it('lets every driver run in every round, each time another first', () => {
    expect(planRounds(['quipu', 'sqlite', 'json-lines'], 4)).toEqual([
      ['quipu', 'sqlite', 'json-lines'],
      ['sqlite', 'json-lines', 'quipu'],
      ['json-lines', 'quipu', 'sqlite'],
      ['quipu', 'sqlite', 'json-lines'],
    ]);
  });
});

describe('figures', () => {
  it('takes ratios within rounds, so that a slow round changes nothing', () => {
    const rounds = new Map([
      ['quipu', [{ p50Ms: 2 }, { p50Ms: 20 }, { p50Ms: 2 }]],
      ['raw-file', [{ p50Ms: 1 }, { p50Ms: 10 }, { p50Ms: 1 }]],
    ] as const);
    expect(ratio(rounds, ['quipu', 'raw-file'], 'p50Ms')).toBe(2);
  });

  it('takes differences within rounds as well', () => {
    const rounds = new Map([
      ['tcp', [{ p50Ms: 3 }, { p50Ms: 11 }, { p50Ms: 4 }]],
      ['quipu', [{ p50Ms: 1 }, { p50Ms: 10 }, { p50Ms: 2 }]],
    ] as const);
    expect(difference(rounds, ['tcp', 'quipu'], 'p50Ms')).toBe(2);
  });

  it('finds percentiles whatever the order', () => {
    expect(percentile([5, 1, 4, 2, 3], 0.5)).toBe(3);
    expect(percentile([5, 1, 4, 2, 3], 1)).toBe(5);
  });
});

describe('the report', () => {
  it('says which bar was missed', () => {
    const finding = { work: 'w', answers: { quipu: '5 ms' }, measured: '3x', must: '<= 2x' };
    const table = toTable([
      { ...finding, met: false },
      { ...finding, met: true },
      { ...finding, must: '', met: undefined },
    ]);
    const [, , missed, met, shown] = table.split('\n').map((line) => line.split(/ *\| */).at(-2));
    expect([missed, met, shown]).toEqual(['NO', 'yes', '']);
  });

  it('has a column for each driver that answered', () => {
    const finding = { work: 'w', measured: '', must: '', met: undefined };
    const [head] = toTable([
      { ...finding, answers: { quipu: '1 ms' } },
      { ...finding, answers: { http: '2 ms' } },
    ]).split('\n');
    const titles = head?.split('|').map((title) => title.trim());
    expect(titles?.slice(1, 5)).toEqual(['work', 'Quipu', 'over HTTP', 'measured']);
  });

  it('draws each point where its value is', () => {
    const plot = { file: 'a.svg', title: 'a < b', yLabel: 'ms' };
    const points = [
      [1000, 0],
      [10_000, 50],
      [100_000, 100],
    ] as const;
    const svg = linePlot({ ...plot, series: [{ name: 's', points }] });
    expect(svg).toContain('<polyline points="70.0,310.0 345.0,175.0 620.0,40.0"');
    expect(svg).toContain('a &lt; b');
  });

  it.each([
    [0.3, 0.5],
    [1, 1],
    [7, 10],
    [24, 50],
    [0, 1],
  ])('rounds a step of %d up to %d', (step, nice) => {
    expect(niceStep(step)).toBeCloseTo(nice);
  });
});

describe('options', () => {
  it('keep part of a run from taking the place of a whole one', () => {
    expect(parseOptions([], 'bench')).toMatchObject({ out: 'bench', sizes: { name: 'default' } });
    expect(parseOptions(['--only', 'fork'], 'bench')).toMatchObject({ out: undefined });
    expect(parseOptions(['--smoke'], 'bench')).toMatchObject({ out: undefined });
  });

  it('name the rows there are', () => {
    expect(() => parseOptions(['--only', 'nothing'], 'bench')).toThrow(/rows are append-one, /);
  });
});
