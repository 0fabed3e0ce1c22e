import { effect, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ServerEvent } from '../../../src/browser.ts';
import { ROOT, ask, type ApiError } from '../api/http.ts';
import { follow, type Link } from '../api/live.ts';
import { addressOf, parseAddress, type View } from './address.ts';

// The state that the whole page shares: where it is, who is looking, whether the server is there.

export type Theme = 'system' | 'light' | 'dark';
export type Scope = 'read' | 'write' | 'admin';

/** The prefix of a proxy, without a slash at its end. */
const PREFIX = ROOT.pathname.replace(/\/$/, '');

export const view = signal<View>(here());
export const link = signal<Link>('connecting');
export const scope = signal<Scope>('read');
export const storeName = signal('');
/** The title of what is shown; the view sets it. */
export const placeTitle = signal('');
/** The server wants a token before it answers. */
export const locked = signal(false);
export const theme = signal<Theme>(storedTheme());
/** The panel over the page. */
export const overlay = signal<'search' | 'keys' | undefined>(undefined);
/** The line that tells what an action did; it goes away by itself. */
export const notice = signal('');

export function hrefOf(to: View): string {
  return PREFIX + addressOf(to);
}

export function go(to: View, { replace = false }: { replace?: boolean } = {}): void {
  overlay.value = undefined;
  const href = hrefOf(to);
  if (href === location.pathname + location.search) return;
  if (replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  view.value = to;
}

export function say(text: string): void {
  notice.value = text;
  setTimeout(() => {
    if (notice.value === text) notice.value = '';
  }, 4000);
}

/** The header and the tab show this title while the view is open. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    if (title !== undefined) placeTitle.value = title;
  }, [title]);
}

/** Errors of loading: a missing token locks the page, all others are shown where they happen. */
export function noteError(error: unknown): void {
  if ((error as ApiError).code === 'UNAUTHORIZED') locked.value = true;
}

type Listener = (event: ServerEvent) => void;
const listeners = new Set<Listener>();

/** Tells of everything that happens in the store, until the result is called. */
export function onStoreEvent(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

let watching = new AbortController();

/** Asks who is looking, then watches the store. Call it again after the token changed. */
export async function start(): Promise<void> {
  watching.abort();
  watching = new AbortController();
  const { signal: stop } = watching;
  try {
    const me = await ask('whoAmI', {}, { signal: stop });
    scope.value = me.scope;
    storeName.value = me.store;
    locked.value = false;
  } catch (error) {
    if (stop.aborted) return;
    noteError(error);
    link.value = 'lost';
    if (!locked.value) setTimeout(() => void start(), 1000);
    return;
  }
  void follow({
    operation: 'watchStore',
    given: {},
    signal: stop,
    onLink: (state) => (link.value = state),
    onRefused: noteError,
    onEvent: (event) => {
      for (const listener of listeners) listener(event);
    },
  });
}

addEventListener('popstate', () => (view.value = here()));
effect(() => {
  localStorage.setItem('quipu.theme', theme.value);
  document.documentElement.dataset['theme'] = theme.value;
});

function here(): View {
  const path = location.pathname.startsWith(PREFIX)
    ? location.pathname.slice(PREFIX.length)
    : location.pathname;
  return parseAddress(path, location.search);
}

function storedTheme(): Theme {
  const stored = localStorage.getItem('quipu.theme');
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}
