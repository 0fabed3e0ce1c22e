import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { go, overlay } from './app.ts';
import type { View } from './address.ts';

// Keys. A view handles a key first; what it leaves goes to the page. Nothing is handled while somebody types.

type Handler = (key: string) => boolean;
const handlers: Handler[] = [];

/** The turn that keys act on. */
export const chosenTurn = signal<string | undefined>(undefined);

/**
 * The newest component is asked first. Its handler returns true for a key that it took. The handler of the last
 * render answers: an effect runs after the paint, so a key pressed right after it would meet an older one.
 */
export function useKeys(handler: Handler): void {
  const latest = useRef(handler);
  latest.current = handler;
  useLayoutEffect(() => {
    const ask: Handler = (key) => latest.current(key);
    handlers.unshift(ask);
    return () => {
      handlers.splice(handlers.indexOf(ask), 1);
    };
  }, []);
}

export const KEYS: readonly (readonly [keys: string, what: string])[] = [
  ['/ or Ctrl K', 'Search'],
  ['j and k', 'Next and previous'],
  ['Enter', 'Open what is chosen'],
  ['b', 'Branches of the thread'],
  ['c', 'In the graph: pick a turn to compare'],
  ['g h', 'Go home'],
  ['g s', 'Go to the store'],
  ['g f', 'Go to search'],
  ['[', 'Back'],
  ['t', 'Change light and dark'],
  ['Esc', 'Close'],
  ['?', 'Show these keys'],
];

const PLACES: Readonly<Record<string, View>> = {
  h: { at: 'home' },
  s: { at: 'store' },
  f: { at: 'search', query: '' },
};
const SECOND_KEY_MS = 1500;

export function listenForKeys(changeTheme: () => void): void {
  let wentAt = 0;
  addEventListener('keydown', (event) => {
    const { key, target } = event;
    if (key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      overlay.value = 'search';
      return;
    }
    if (key === 'Escape' && overlay.value !== undefined) {
      overlay.value = undefined;
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(target)) return;
    const isSecond = Date.now() - wentAt < SECOND_KEY_MS;
    const place = PLACES[key];
    wentAt = 0;
    if (isSecond && place !== undefined) go(place);
    else if (handlers.some((handle) => handle(key))) void 0;
    else if (key === 'g') wentAt = Date.now();
    else if (key === '/') overlay.value = 'search';
    else if (key === '?') overlay.value = overlay.value === 'keys' ? undefined : 'keys';
    else if (key === '[') history.back();
    else if (key === 't') changeTheme();
    else return;
    event.preventDefault();
  });
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest('input, textarea, select, [contenteditable]') !== null
  );
}
