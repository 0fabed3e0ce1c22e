import { useEffect, useState } from 'preact/hooks';
import { ask, type ApiError } from '../api/http.ts';
import { noteError } from './app.ts';
import type { Tree } from './tree.ts';

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

const READING_MS = 1000;

/** The tree of a context. A server that still reads contexts is asked again. */
export function useTree(context: string): Loaded<Tree> {
  const tree = useLoad(`tree ${context}`, (signal) => ask('getTree', { id: context }, { signal }));
  useEffect(() => {
    if (tree.value?.reading !== true) return undefined;
    const timer = setTimeout(tree.again, READING_MS);
    return () => clearTimeout(timer);
  }, [tree.value]);
  return tree;
}
