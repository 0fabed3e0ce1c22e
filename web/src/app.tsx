import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { Menu, Moon, PanelRight, Search, Sun } from 'lucide';
import { setToken } from './api/http.ts';
import { Empty, Go, Icon } from './parts/basics.tsx';
import { AskedDialog, Dialog } from './parts/dialogs.tsx';
import type { View } from './state/address.ts';
import {
  link,
  locked,
  notice,
  overlay,
  placeTitle,
  start,
  storeName,
  theme,
  view,
} from './state/app.ts';
import { KEYS } from './state/keys.ts';
import { firstLine, visible } from './state/format.ts';
import { BranchesView } from './views/branches.tsx';
import { ChatView } from './views/chat.tsx';
import { CompareView } from './views/compare.tsx';
import { HomeView } from './views/home.tsx';
import { QueueView } from './views/queue.tsx';
import { SearchPanel, SearchView } from './views/search.tsx';
import { SessionView } from './views/session.tsx';
import { SideList } from './views/side-list.tsx';
import { StoreView } from './views/store.tsx';
import { ThreadView } from './views/thread.tsx';
import { WorkflowView } from './views/workflow.tsx';

const LINKS = { connecting: 'connecting', live: 'live', lost: 'connection lost' } as const;

export function App(): JSX.Element {
  const [panel, setPanel] = useState<'list' | 'look' | undefined>();
  const at = view.value;
  const toggle = (one: 'list' | 'look'): void => setPanel(panel === one ? undefined : one);
  // Before the effects of the new view, which set its title.
  useLayoutEffect(() => {
    setPanel(undefined);
    placeTitle.value = '';
  }, [at]);
  // Read here, so that the tab gets the title when it is known.
  const title = firstLine(placeTitle.value || titleOf(at), 80);
  useEffect(() => {
    document.title = `${title} · Quipu`;
  }, [title]);
  if (locked.value) return <TokenForm />;
  return (
    <div class={`page at-${at.at} ${panel === undefined ? '' : `with-${panel}`}`}>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <Header toggle={toggle} />
      <SideList />
      <div id="content" class="content" tabIndex={-1}>
        <Place at={at} />
      </div>
      {overlay.value === 'search' && (
        <Dialog label="Search" onClose={closeOverlay}>
          <SearchPanel />
        </Dialog>
      )}
      {overlay.value === 'keys' && (
        <Dialog label="Keys" onClose={closeOverlay}>
          <Keys />
        </Dialog>
      )}
      <AskedDialog />
      <div class="notice" role="status" aria-live="polite">
        {notice.value}
      </div>
    </div>
  );
}

function closeOverlay(): void {
  overlay.value = undefined;
}

function Place({ at }: { at: View }): JSX.Element {
  switch (at.at) {
    case 'home':
      return <HomeView />;
    case 'context':
      return <ThreadView {...at} />;
    case 'branches':
      return <BranchesView context={at.context} />;
    case 'compare':
      return <CompareView left={at.left} right={at.right} />;
    case 'chat':
      return <ChatView {...at} />;
    case 'workflow':
      return <WorkflowView {...at} />;
    case 'session':
      return <SessionView {...at} />;
    case 'queue':
      return <QueueView queue={at.queue} />;
    case 'search':
      return <SearchView query={at.query} />;
    case 'store':
      return <StoreView />;
    case 'nowhere':
      return <Empty title="The page has no such address." />;
  }
}

function titleOf(at: View): string {
  if (at.at === 'context' || at.at === 'branches') return `Context ${at.context}`;
  return `${at.at[0]?.toUpperCase()}${at.at.slice(1)}`;
}

/** Views with a column of details, which a narrow screen shows on request. */
const WITH_DETAILS: ReadonlySet<View['at']> = new Set([
  'context',
  'branches',
  'chat',
  'workflow',
  'session',
  'queue',
]);

function Header({ toggle }: { toggle: (panel: 'list' | 'look') => void }): JSX.Element {
  const { at } = view.value;
  return (
    <header class="top">
      <button
        type="button"
        class="burger"
        aria-label="Show the list"
        onClick={() => toggle('list')}
      >
        <Icon of={Menu} />
      </button>
      <Go to={{ at: 'home' }} class="logo">
        <Logo /> Quipu
      </Go>
      <div class="crumb">
        <span>{visible(storeName.value)}</span>
        <h1>{firstLine(placeTitle.value || titleOf(view.value), 80)}</h1>
        {at === 'branches' && <span class="part">branches</span>}
      </div>
      <nav class="places" aria-label="Places">
        <Go to={{ at: 'store' }}>Store</Go>
      </nav>
      <button type="button" class="find" onClick={() => (overlay.value = 'search')}>
        <Icon of={Search} label="Search everything" />
        <span>Search everything</span>
        <kbd>Ctrl K</kbd>
      </button>
      <span class={`link ${link.value}`} role="status">
        <i />
        <span>{LINKS[link.value]}</span>
      </span>
      {WITH_DETAILS.has(at) && (
        <button
          type="button"
          class="details"
          aria-label="Show the details"
          onClick={() => toggle('look')}
        >
          <Icon of={PanelRight} />
        </button>
      )}
      <ThemeButton />
    </header>
  );
}

function Logo(): JSX.Element {
  return (
    <svg width="20" height="22" viewBox="0 0 20 22" class="mark" aria-hidden="true">
      <path d="M2 3h16M5 3v13M10 3v17M15 3v10" />
      <g>
        <circle cx="5" cy="9" r="2" />
        <circle cx="5" cy="14" r="2" />
        <circle cx="10" cy="8" r="2" />
        <circle cx="10" cy="16" r="2" />
        <circle cx="15" cy="10" r="2" />
      </g>
    </svg>
  );
}

function ThemeButton(): JSX.Element {
  const next = { system: 'light', light: 'dark', dark: 'system' } as const;
  return (
    <button
      type="button"
      class="theme"
      title={`Theme: ${theme.value}`}
      aria-label={`Theme: ${theme.value}. Change it.`}
      onClick={() => (theme.value = next[theme.value])}
    >
      <Icon of={theme.value === 'dark' ? Moon : Sun} />
    </button>
  );
}

function Keys(): JSX.Element {
  return (
    <div class="keys">
      <h2>Keys</h2>
      <dl class="kv">
        {KEYS.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** Asks for a token when the server wants one. */
function TokenForm(): JSX.Element {
  const [token, set] = useState('');
  return (
    <main class="token">
      <h1>
        <Logo /> Quipu
      </h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setToken(token.trim());
          void start();
        }}
      >
        <label for="token">This store needs a token.</label>
        <input
          id="token"
          type="password"
          autoComplete="off"
          value={token}
          onInput={(event) => set(event.currentTarget.value)}
        />
        <button type="submit" class="first">
          Open
        </button>
        <p class="muted">
          <code>quipu ui</code> opens the page with one. <code>quipu token add</code> makes one.
        </p>
      </form>
    </main>
  );
}
