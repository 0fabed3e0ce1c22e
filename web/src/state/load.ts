import { useEffect, useState } from 'preact/hooks';
import type { ApiError } from '../api/http.ts';
import { noteError } from './app.ts';

export interface Loaded<T> {
  readonly value: T | undefined;
  readonly error: ApiError | undefined;
  /** Loads again. The old value stays until the new one is there. */
  readonly again: () => void;
}

/** Loads a value for `key`, and again when the key changes. A load that is overtaken is dropped. */
export function useLoad<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ key: string; value?: T; error?: ApiError }>({ key });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const ended = new AbortController();
    load(ended.signal).then(
      (value) => ended.signal.aborted || setState({ key, value }),
      (error: ApiError) => {
        if (ended.signal.aborted) return;
        noteError(error);
        setState((old) => ({ ...(old.key === key && old), key, error }));
      },
    );
    return () => ended.abort();
  }, [key, round]);
  const current = state.key === key ? state : { key };
  return {
    value: current.value,
    error: current.error,
    again: () => setRound((old) => old + 1),
  };
}
