import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ask, type ApiError, type Given } from '../api/http.ts';
import { follow } from '../api/live.ts';
import { fromBase64 } from '../parts/picture.tsx';
import { noteError, onStoreEvent } from './app.ts';
import {
  addLive,
  addNewer,
  addOlder,
  EMPTY_WINDOW,
  hasNewer,
  hasOlder,
  PAGE_TURNS,
  replaceTurn,
  trimWindow,
  type TurnJson,
  type TurnWindow,
} from './turn-window.ts';

/** Payloads up to this size come with their turns; larger ones are read when somebody opens them. */
const PAYLOAD_BYTES = 65_536;

/** A turn that is being written. */
export interface Writing {
  readonly turn: TurnJson;
  readonly text: string;
}

export interface Thread {
  readonly window: TurnWindow;
  readonly isLoaded: boolean;
  readonly error: ApiError | undefined;
  readonly writing: Writing | undefined;
  readonly older: () => void;
  readonly newer: () => void;
  readonly again: () => void;
  /** Reads one turn with its whole payload into the window. */
  readonly whole: (turn: string) => void;
}

/** The turns of a context around `turn`, or up to its head, kept current while the view is open. */
export function useThread(context: string, turn?: string): Thread {
  const [window, setWindow] = useState(EMPTY_WINDOW);
  const [loaded, setLoaded] = useState('');
  const [error, setError] = useState<ApiError>();
  const [writing, setWriting] = useState<Writing>();
  const [round, setRound] = useState(0);
  const current = useRef(window);
  current.current = window;
  const key = `${context}/${turn ?? ''}`;

  const again = useCallback(() => setRound((old) => old + 1), []);

  useEffect(() => {
    const ended = new AbortController();
    const { signal } = ended;
    setError(undefined);
    readAround(context, turn, signal).then(
      (read) => {
        if (signal.aborted) return;
        setWindow(read);
        setLoaded(key);
        followLive(context, read, signal, { setWindow, setWriting, again, current });
      },
      (problem: ApiError) => {
        if (signal.aborted) return;
        noteError(problem);
        setError(problem);
      },
    );
    return () => {
      ended.abort();
      setWriting(undefined);
    };
  }, [key, round]);

  useEffect(() => setWindow(trimWindow), [window]);
  usePatches(current, setWindow);
  const page = usePages(context, setWindow);
  const first = window.turns[0]?.id ?? '0';
  const lastDepth = window.turns.at(-1)?.depth ?? 0;
  return {
    window: loaded === key ? window : EMPTY_WINDOW,
    isLoaded: loaded === key,
    error,
    writing,
    again,
    older: () => {
      if (!hasOlder(window)) return;
      page({ before: first }, (old, { turns }) => addOlder(old, turns));
    },
    newer: () => {
      if (!hasNewer(window)) return;
      const from = lastDepth + 1;
      page({ from, to: from + PAGE_TURNS }, (old, { turns, headDepth }) =>
        addNewer(old, turns, headDepth),
      );
    },
    whole: (id) => {
      ask('getTurn', { id })
        .then((read) => setWindow((old) => replaceTurn(old, read)))
        .catch(noteError);
    },
  };
}

/** Shows a patched or hidden turn as it is now. */
function usePatches(current: { readonly current: TurnWindow }, setWindow: SetWindow): void {
  useEffect(
    () =>
      onStoreEvent(({ event, data }) => {
        if (event !== 'patch.added') return;
        const { turn: patched } = (data as { patch: { turn: string } }).patch;
        if (!current.current.turns.some(({ id }) => id === patched)) return;
        void ask('getTurn', { id: patched }).then((read) =>
          setWindow((old) => replaceTurn(old, read)),
        );
      }),
    [],
  );
}

type ReadPage = (which: Given, put: (old: TurnWindow, read: Page) => TurnWindow) => void;

/**
 * Reads one page at a time. A page may be shorter than asked for: one that is read backwards lacks its oldest turns, one
 * that is read forwards its newest, so it fits to the window either way.
 */
function usePages(context: string, setWindow: SetWindow): ReadPage {
  const busy = useRef(false);
  return (which, put) => {
    if (busy.current) return;
    busy.current = true;
    ask('listTurns', { id: context, ...which, limit: PAGE_TURNS, payload: PAYLOAD_BYTES })
      .then((read) => setWindow((old) => put(old, read)))
      .catch(noteError)
      .finally(() => (busy.current = false));
  };
}

type SetWindow = (change: (old: TurnWindow) => TurnWindow) => void;
type Page = Awaited<ReturnType<typeof ask<'listTurns'>>>;

async function readAround(
  context: string,
  turn: string | undefined,
  signal: AbortSignal,
): Promise<TurnWindow> {
  const id = context;
  const payload = PAYLOAD_BYTES;
  if (turn === undefined) {
    const { turns, headDepth } = await ask(
      'listTurns',
      { id, limit: PAGE_TURNS, payload },
      { signal },
    );
    return { turns, headDepth, atTop: false };
  }
  const [target, before] = await Promise.all([
    ask('getTurn', { id: turn }, { signal }),
    ask('listTurns', { id, before: turn, limit: PAGE_TURNS / 2, payload }, { signal }),
  ]);
  const window = { turns: [...before.turns, target], headDepth: before.headDepth, atTop: false };
  const from = target.depth + 1;
  const range = { id, from, to: from + PAGE_TURNS, limit: PAGE_TURNS, payload };
  const after = await ask('listTurns', range, { signal });
  // Without a turn whose parent is this one, the turn is not on the way to the head. Then it is the end of what is shown.
  if (after.turns[0]?.parent !== target.id) return { ...window, headDepth: target.depth };
  return addNewer(window, after.turns, after.headDepth);
}

interface Live {
  readonly setWindow: SetWindow;
  readonly setWriting: (writing: Writing | undefined) => void;
  readonly again: () => void;
  readonly current: { readonly current: TurnWindow };
}

function followLive(context: string, read: TurnWindow, signal: AbortSignal, live: Live): void {
  const { setWindow, setWriting, again, current } = live;
  const last = read.turns.at(-1);
  const after = hasNewer(read) ? 'head' : (last?.id ?? '0');
  void follow({
    operation: 'followContext',
    given: { id: context, after, open: true, payload: PAYLOAD_BYTES },
    signal,
    onRefused: noteError,
    onEvent: ({ event, data }) => {
      if (event === 'turn') {
        const turn = data as TurnJson;
        setWriting(undefined);
        if (addLive(current.current, turn) === undefined) again();
        else setWindow((old) => addLive(old, turn) ?? old);
      } else if (event === 'open') readOpen(data as TurnJson, signal, setWriting);
      else if (event === 'moved') again();
    },
  });
}

function readOpen(
  turn: TurnJson,
  signal: AbortSignal,
  setWriting: (writing: Writing | undefined) => void,
): void {
  const decoder = new TextDecoder();
  let text = '';
  let offset = 0;
  setWriting({ turn, text });
  void follow({
    operation: 'followOpenTurn',
    given: { id: turn.id },
    signal,
    onEvent: ({ event, data }) => {
      if (event !== 'delta') return;
      const piece = data as { offset: number; base64: string };
      if (piece.offset !== offset) return;
      const bytes = fromBase64(piece.base64);
      offset += bytes.length;
      text += decoder.decode(bytes, { stream: true });
      setWriting({ turn, text });
    },
  });
}
