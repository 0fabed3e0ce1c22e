import { readEvents, type ServerEvent } from '../../../src/browser.ts';
import { ApiError, send, type Given, type Operation } from './http.ts';

// Event streams that come back after every loss, right after the last event that was seen.

export type Link = 'connecting' | 'live' | 'lost';

export interface Follow {
  readonly operation: Operation;
  readonly given: Given;
  readonly onEvent: (event: ServerEvent) => void;
  /** Told of each change of the connection. */
  readonly onLink?: (link: Link) => void;
  /** The server refused the stream or its position; the stream is over. */
  readonly onRefused?: (error: ApiError) => void;
  readonly signal: AbortSignal;
}

const PAUSE_MS = 250;
const PAUSE_MAX_MS = 5000;

/** Runs until the signal aborts, the source ends, or the server refuses. Never throws. */
export async function follow(stream: Follow): Promise<void> {
  const { operation, given, onEvent, onLink, onRefused, signal } = stream;
  let last: string | undefined;
  for (let failures = 0; !signal.aborted; failures += 1) {
    onLink?.('connecting');
    try {
      const headers = {
        Accept: 'text/event-stream',
        ...(last !== undefined && { 'Last-Event-ID': last }),
      };
      const response = await send(operation, given, { headers, signal });
      onLink?.('live');
      for await (const event of readEvents(response)) {
        failures = 0;
        last = event.id ?? last;
        if (!signal.aborted) onEvent(event);
      }
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status >= 400 && error.status < 500) {
        onRefused?.(error);
        return;
      }
    }
    onLink?.('lost');
    await pause(Math.min(PAUSE_MS * 2 ** failures, PAUSE_MAX_MS), signal);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
