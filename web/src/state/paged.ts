import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../api/http.ts';
import { noteError } from './app.ts';
import {
  addNewerPage,
  addOlderPage,
  itemsOf,
  PAGE_ITEMS,
  renewEnd,
  trimPages,
  type Cursor,
  type HeldPage,
  type PageWindow,
  type ReadPage,
} from './page-window.ts';

/** A thread that is read from its end, page by page. */
export interface PageSource<T> {
  /** Another key is another thread. */
  readonly key: string;
  readonly idOf: (item: T) => string;
  readonly read: (
    which: { readonly before?: Cursor | undefined; readonly limit: number },
    signal: AbortSignal,
  ) => Promise<ReadPage<T>>;
}

export interface Paged<T> {
  readonly items: readonly T[];
  readonly isLoaded: boolean;
  readonly error: ApiError | undefined;
  /** Items came at the older end. */
  readonly atTop: boolean;
  readonly hasOlder: boolean;
  readonly hasNewer: boolean;
  readonly older: () => void;
  readonly newer: () => void;
  /** Reads the end again, after something was said. */
  readonly renew: () => void;
  readonly again: () => void;
}

/** Pages on the way to an item are large, and there are this many at most: 50,000 items. */
const SEEK_ITEMS = 500;
const SEEK_PAGES = 100;

interface Held<T> {
  readonly key: string;
  readonly window: PageWindow<T>;
}

const NOTHING: PageWindow<never> = { pages: [], newer: [], atTop: false };

/** The items around `at`, or those at the end. An item that is further back than 50,000 others is not looked for. */
export function usePaged<T>(source: PageSource<T>, at?: string): Paged<T> {
  const [held, setHeld] = useState<Held<T>>({ key: '', window: NOTHING });
  const [error, setError] = useState<ApiError>();
  const [round, setRound] = useState(0);
  const lastRound = useRef(round);
  const current = useRef(held);
  current.current = held;
  const ended = useRef(new AbortController());
  const { key, idOf } = source;
  const isLoaded = held.key === key;
  const items = useMemo(() => (isLoaded ? itemsOf(held.window) : []), [held, isLoaded]);
  const isThere = at === undefined || items.some((item) => idOf(item) === at);

  const again = (): void => setRound((old) => old + 1);
  const put = (change: (old: PageWindow<T>) => PageWindow<T> | undefined): void => {
    const { key: now, window } = current.current;
    const next = now === key ? change(window) : window;
    if (next === undefined) again();
    else if (next !== window) setHeld({ key, window: next });
  };

  useEffect(() => {
    const stop = new AbortController();
    ended.current = stop;
    setError(undefined);
    const isAsked = lastRound.current !== round;
    lastRound.current = round;
    if (isAsked || !isLoaded || !isThere) {
      readFirst(source, at, stop.signal)
        .then((window) => stop.signal.aborted || setHeld({ key, window }))
        .catch((problem: ApiError) => {
          if (stop.signal.aborted) return;
          noteError(problem);
          setError(problem);
        });
    }
    return () => stop.abort();
  }, [key, at, round]);

  useEffect(() => put((old) => trimPages(old, idOf)), [held]);

  const inTurn = useOneRead(ended);
  const readPage = (before: Cursor | undefined, limit = PAGE_ITEMS): Promise<HeldPage<T>> =>
    source.read({ before, limit }, ended.current.signal).then((page) => ({ ...page, before }));
  const older = held.window.pages[0]?.cursor;
  const newer = held.window.newer.at(-1);
  return {
    items,
    isLoaded,
    error,
    atTop: held.window.atTop,
    hasOlder: older !== undefined,
    hasNewer: newer !== undefined,
    again,
    older: () => {
      if (!isLoaded || older === undefined) return;
      inTurn('page', () => readPage(older).then((page) => put((old) => addOlderPage(old, page))));
    },
    newer: () => {
      if (!isLoaded || newer === undefined) return;
      inTurn('page', () =>
        readPage(newer.before, newer.count + PAGE_ITEMS).then((page) =>
          put((old) => addNewerPage(old, page, idOf)),
        ),
      );
    },
    renew: () =>
      inTurn('end', () =>
        source
          .read({ limit: PAGE_ITEMS / 2 }, ended.current.signal)
          .then((page) => put((old) => renewEnd(old, page, idOf))),
      ),
  };
}

type Work = () => Promise<void>;

/** One read at a time. Of the reads of a kind that are asked for meanwhile, the last one is done afterwards. */
function useOneRead(ended: {
  readonly current: AbortController;
}): (kind: 'page' | 'end', work: Work) => void {
  const isBusy = useRef(false);
  const waiting = useRef(new Map<string, Work>());
  const next = (): void => {
    const [kind, work] = waiting.current.entries().next().value ?? [];
    if (kind === undefined || work === undefined || isBusy.current) return;
    waiting.current.delete(kind);
    isBusy.current = true;
    const { signal } = ended.current;
    work()
      .catch((error: unknown) => {
        if (!signal.aborted) noteError(error);
      })
      .finally(() => {
        isBusy.current = false;
        next();
      });
  };
  return (kind, work) => {
    waiting.current.set(kind, work);
    next();
  };
}

async function readFirst<T>(
  { read, idOf }: PageSource<T>,
  at: string | undefined,
  signal: AbortSignal,
): Promise<PageWindow<T>> {
  const end = await read({ limit: PAGE_ITEMS }, signal);
  const start: PageWindow<T> = { pages: [end], newer: [], atTop: false };
  let window = start;
  for (let page = end, n = 0; at !== undefined && n < SEEK_PAGES; n += 1) {
    if (page.items.some((item) => idOf(item) === at)) return window;
    const before = page.cursor;
    if (before === undefined) break;
    page = await read({ before, limit: SEEK_ITEMS }, signal);
    window = trimPages(addOlderPage(window, { ...page, before }), idOf);
  }
  return start;
}
