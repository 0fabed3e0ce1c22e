import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCron } from './parse-cron.ts';

const sorted = (values: ReadonlySet<number>): number[] => [...values].toSorted((a, b) => a - b);

describe('parseCron', () => {
  it('reads stars, numbers, ranges, steps, lists and names', () => {
    const cron = parseCron('*/20 1-3,22 5/10 jan,MAR-may fri-7');
    expect(sorted(cron.minutes)).toEqual([0, 20, 40]);
    expect(sorted(cron.hours)).toEqual([1, 2, 3, 22]);
    expect(sorted(cron.days)).toEqual([5, 15, 25]);
    expect(sorted(cron.months)).toEqual([1, 3, 4, 5]);
    expect(sorted(cron.weekdays)).toEqual([0, 5, 6]);
    expect(cron).toMatchObject({ eitherDay: true, namesTime: false });
    expect(parseCron('0-59/30 4 * * *')).toMatchObject({ eitherDay: false, namesTime: true });
  });

  it.each([
    ['', 'five fields'],
    ['* * * *', 'five fields'],
    ['* * * * * *', 'five fields'],
    ['60 * * * *', '"60" as minute'],
    ['* 24 * * *', '"24" as hour'],
    ['* * 0 * *', '"0" as day of the month'],
    ['* * * 13 *', '"13" as month'],
    ['* * * * 8', '"8" as day of the week'],
    ['* * * mon *', '"mon" as month'],
    ['5-1 * * * *', 'backward range "5-1"'],
    ['*/0 * * * *', '"*/0" as minute'],
    ['*/-1 * * * *', '"*/-1" as minute'],
    ['1,,2 * * * *', '"" as minute'],
    ['1.5 * * * *', '"1.5" as minute'],
    ['**/2 * * * *', '"**/2" as minute'],
    ['1-2-3 * * * *', '"1-2-3" as minute'],
    ['* '.repeat(600), 'longer than'],
  ])('refuses %j', (text, problem) => {
    expect(() => parseCron(text)).toThrow(problem);
  });

  it('reads back any list of values', () => {
    const values = fc.uniqueArray(fc.integer({ min: 0, max: 59 }), { minLength: 1 });
    fc.assert(
      fc.property(values, (minutes) => {
        const cron = parseCron(`${minutes.join(',')} * * * *`);
        expect(sorted(cron.minutes)).toEqual(minutes.toSorted((a, b) => a - b));
      }),
    );
  });
});
