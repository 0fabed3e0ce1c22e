import { useEffect } from 'preact/hooks';
import type { ServerEvent } from '../../../src/browser.ts';
import type { Given, Operation } from '../api/http.ts';
import { follow } from '../api/live.ts';
import { noteError } from './app.ts';

/** Follows an event stream while the view is open. */
export function useStream(
  key: string,
  operation: Operation,
  given: Given,
  onEvent: (event: ServerEvent) => void,
): void {
  useEffect(() => {
    const ended = new AbortController();
    void follow({ operation, given, onEvent, onRefused: noteError, signal: ended.signal });
    return () => ended.abort();
  }, [key]);
}
