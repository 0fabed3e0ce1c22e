import { useEffect, useRef } from 'preact/hooks';
import type { ServerEvent } from '../../../src/browser.ts';
import type { Given, Operation } from '../api/http.ts';
import { follow } from '../api/live.ts';
import { noteError } from './app.ts';

/** Follows an event stream while the view is open. Without `given` it waits until there is one. */
export function useStream(
  key: string,
  operation: Operation,
  given: Given | undefined,
  onEvent: (event: ServerEvent) => void,
): void {
  useEffect(() => {
    if (given === undefined) return undefined;
    const ended = new AbortController();
    void follow({ operation, given, onEvent, onRefused: noteError, signal: ended.signal });
    return () => ended.abort();
  }, [key, given === undefined]);
}

/** Many events may come at once. A view that reads again does so once for all of them. */
const GATHER_MS = 50;

/** Calls back after events of a stream, once for those of a moment. */
export function useNews(
  key: string,
  operation: Operation,
  given: Given | undefined,
  onNews: () => void,
): void {
  const tell = useRef(onNews);
  tell.current = onNews;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useStream(key, operation, given, () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      tell.current();
    }, GATHER_MS);
  });
}
