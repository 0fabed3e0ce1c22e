// Chats, sessions and workflows are read from their end: a page has a cursor that leads to the page before it. The page
// of people holds a window of such pages without a gap. Pages at the far end leave when the window is full; their
// cursors stay, so that they can be read again. These functions are pure.

export type Cursor = string | number;

export interface ReadPage<T> {
  /** Older first. */
  readonly items: readonly T[];
  /** Leads to the page before. Absent when there is none. */
  readonly cursor?: Cursor | undefined;
}

export interface HeldPage<T> extends ReadPage<T> {
  /** The cursor that the page was read with. Absent for the newest one. */
  readonly before?: Cursor | undefined;
}

/** A page that was let go, and how to find it again. */
interface LeftPage {
  readonly before?: Cursor | undefined;
  readonly first: string;
  readonly count: number;
}

export interface PageWindow<T> {
  /** Older first, without a gap. */
  readonly pages: readonly HeldPage<T>[];
  /** The nearest one is the last one. */
  readonly newer: readonly LeftPage[];
  /** The last change was at the older end: a list keeps what it shows in its place. */
  readonly atTop: boolean;
  /** The end that grew since pages were last let go. */
  readonly grown?: 'older' | 'newer' | undefined;
}

export const PAGE_ITEMS = 60;
export const WINDOW_ITEMS = 600;

type IdOf<T> = (item: T) => string;

export function itemsOf<T>({ pages }: PageWindow<T>): T[] {
  return pages.flatMap(({ items }) => items);
}

export function addOlderPage<T>(window: PageWindow<T>, page: HeldPage<T>): PageWindow<T> {
  if (page.before !== window.pages[0]?.cursor) return window;
  return { ...window, pages: [page, ...window.pages], atTop: true, grown: 'older' };
}

/** Takes in the next of the pages that were let go. Undefined when there is a gap: then everything is read anew. */
export function addNewerPage<T>(
  window: PageWindow<T>,
  page: HeldPage<T>,
  idOf: IdOf<T>,
): PageWindow<T> | undefined {
  const left = window.newer.at(-1);
  if (left === undefined || left.before !== page.before) return window;
  const from = page.items.findIndex((item) => idOf(item) === left.first);
  if (from === -1) return undefined;
  const items = page.items.slice(from);
  const cursor = window.pages.at(-1)?.before;
  return {
    pages: [...window.pages, { ...page, items, cursor }],
    newer: window.newer.slice(0, -1),
    atTop: false,
    grown: 'newer',
  };
}

/**
 * Takes in what the end of the thread is now: half a page. Undefined when there is a gap. Without the end in sight there
 * is nothing to do.
 */
export function renewEnd<T>(
  window: PageWindow<T>,
  { items, cursor }: ReadPage<T>,
  idOf: IdOf<T>,
): PageWindow<T> | undefined {
  const last = window.pages.at(-1);
  if (window.newer.length > 0) return window;
  const [first] = items;
  if (last === undefined || first === undefined || last.items.length === 0) return undefined;
  const at = last.items.findIndex((item) => idOf(item) === idOf(first));
  if (at === -1) return undefined;
  const before = last.items.slice(0, at);
  const ends: HeldPage<T>[] =
    before.length < PAGE_ITEMS / 2
      ? [{ items: [...before, ...items], cursor: last.cursor }]
      : [
          { items: before, before: cursor, cursor: last.cursor },
          { items, cursor },
        ];
  return {
    ...window,
    pages: [...window.pages.slice(0, -1), ...ends],
    atTop: false,
    grown: 'newer',
  };
}

/**
 * Lets pages go at the other end than the one that grew. This is a step of its own: a list finds out what changed by the
 * number of its items, and cannot tell where they came when as many went.
 */
export function trimPages<T>(window: PageWindow<T>, idOf: IdOf<T>): PageWindow<T> {
  const { grown } = window;
  const pages = [...window.pages];
  const newer = [...window.newer];
  let count = pages.reduce((sum, { items }) => sum + items.length, 0);
  while (grown !== undefined) {
    const far = grown === 'older' ? pages.at(-1) : pages[0];
    if (far === undefined || count - far.items.length < WINDOW_ITEMS) break;
    count -= far.items.length;
    if (grown === 'newer') pages.shift();
    else {
      pages.pop();
      newer.push({
        before: far.before,
        first: far.items.slice(0, 1).map(idOf).join(''),
        count: far.items.length,
      });
    }
  }
  if (pages.length === window.pages.length) return window;
  return { pages, newer, atTop: grown === 'newer' };
}
