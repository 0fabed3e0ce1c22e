import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  addNewerPage,
  addOlderPage,
  itemsOf,
  PAGE_ITEMS,
  renewEnd,
  trimPages,
  WINDOW_ITEMS,
  type PageWindow,
} from './page-window.ts';

// A thread of numbers: the item at place n is n, and a cursor is the place that a page ends before.

const idOf = String;

function read(
  length: number,
  limit: number,
  before?: number,
): { items: number[]; cursor?: number; before?: number | undefined } {
  const to = before ?? length;
  const from = Math.max(0, to - limit);
  const items = Array.from({ length: to - from }, (_, n) => from + n);
  return { items, before, ...(from > 0 && { cursor: from }) };
}

const start = (length: number): PageWindow<number> => ({
  pages: [read(length, PAGE_ITEMS)],
  newer: [],
  atTop: false,
});

const step = fc.oneof(
  fc.constant('older' as const),
  fc.constant('newer' as const),
  fc.integer({ min: 1, max: 40 }),
);

it('holds a run without a gap or a repeat, however one goes through a thread that grows', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 3000 }),
      fc.array(step, { maxLength: 60, size: 'max' }),
      (initial, steps) => {
        let length = initial;
        let window = start(length);
        for (const one of steps) {
          const before = itemsOf(window);
          if (one === 'older') {
            const cursor = window.pages[0]?.cursor as number | undefined;
            if (cursor === undefined) continue;
            window = addOlderPage(window, read(length, PAGE_ITEMS, cursor));
          } else if (one === 'newer') {
            const left = window.newer.at(-1);
            if (left === undefined) continue;
            const page = read(length, left.count, left.before as number | undefined);
            window = addNewerPage(window, page, idOf) ?? start(length);
          } else {
            length += one;
            window = renewEnd(window, read(length, PAGE_ITEMS / 2), idOf) ?? start(length);
          }
          window = trimPages(window, idOf);
          // What was let go is not what just came.
          expect(trimPages(window, idOf)).toBe(window);
          const items = itemsOf(window);
          const isOn = {
            older: (items[0] ?? 0) < (before[0] ?? 0),
            newer: (items.at(-1) ?? 0) > (before.at(-1) ?? 0),
          };
          expect(typeof one === 'number' || isOn[one]).toBe(true);
          const first = items[0] ?? 0;
          expect(items).toEqual(items.map((_, n) => first + n));
          expect(items.length).toBeLessThan(WINDOW_ITEMS + 2 * PAGE_ITEMS);
          expect(window.pages[0]?.cursor ?? 0).toBe(first);
          expect(window.newer.length > 0 || items.at(-1) === length - 1).toBe(true);
        }
      },
    ),
  );
});

it('goes up to the beginning, and down again to the end', () => {
  const length = 2000;
  let window = start(length);
  for (;;) {
    const cursor = window.pages[0]?.cursor as number | undefined;
    if (cursor === undefined) break;
    window = trimPages(addOlderPage(window, read(length, PAGE_ITEMS, cursor)), idOf);
  }
  expect(itemsOf(window)[0]).toBe(0);
  for (let left = window.newer.at(-1); left !== undefined; left = window.newer.at(-1)) {
    const page = read(length, left.count, left.before as number | undefined);
    window = trimPages(addNewerPage(window, page, idOf) as PageWindow<number>, idOf);
  }
  expect(itemsOf(window).at(-1)).toBe(length - 1);
});

it('says that it must be read anew when more came than half a page', () => {
  expect(renewEnd(start(100), read(200, PAGE_ITEMS / 2), idOf)).toBeUndefined();
  expect(renewEnd({ pages: [], newer: [], atTop: false }, read(3, 30), idOf)).toBeUndefined();
});

it('shows what changed at the end, and drops a page that does not fit', () => {
  const window = renewEnd(start(5), { items: [3, 4, 5] }, idOf);
  expect(window && itemsOf(window)).toEqual([0, 1, 2, 3, 4, 5]);
  const held = start(200);
  expect(addOlderPage(held, read(200, PAGE_ITEMS, 20))).toBe(held);
});
