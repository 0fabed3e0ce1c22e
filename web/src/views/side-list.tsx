import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Answers } from '../api/answers.ts';
import { ask, type ApiError } from '../api/http.ts';
import { Empty, Go, Skeleton, Time, Trouble } from '../parts/basics.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import type { View } from '../state/address.ts';
import { go, link, noteError, onStoreEvent, view } from '../state/app.ts';
import { firstLine, plural, visible } from '../state/format.ts';
import { useKeys } from '../state/keys.ts';

export type ThreadItem = Answers['listAll']['items'][number];
type Kind = ThreadItem['kind'];

const TABS: readonly (readonly [Kind | 'all', string])[] = [
  ['all', 'All'],
  ['context', 'Contexts'],
  ['chat', 'Chats'],
  ['workflow', 'Workflows'],
  ['session', 'Sessions'],
  ['queue', 'Queues'],
];
const PAGE = 60;
const ITEM_PX = 76;
/** Browsers draw nothing beyond about 16 million pixels. Whoever wants older threads than these searches for them. */
const ITEMS_MAX = 20_000;
/** Events of a busy store are answered with one reload in this time. */
const REFRESH_MS = 700;

/** Everything in the store, newest first. The list is live. */
export function SideList(): JSX.Element {
  const [kind, setKind] = useState<Kind | 'all'>('all');
  const [wanted, setWanted] = useState('');
  const { items, error, isLoaded, more, again } = useItems(kind);
  const shown = useMemo(() => items.filter((item) => matches(item, wanted)), [items, wanted]);
  const [at, setAt] = useState(-1);
  useKeys((key) => {
    if (view.value.at !== 'home') return false;
    if (key === 'j' || key === 'k') {
      setAt(Math.min(Math.max(at + (key === 'j' ? 1 : -1), 0), shown.length - 1));
      return true;
    }
    const item = shown[at];
    if (key !== 'Enter' || item === undefined) return false;
    go(viewOf(item));
    return true;
  });
  return (
    <nav class="list" aria-label="Everything in the store">
      <div class="tabs" role="tablist" aria-label="Kinds of thread">
        {TABS.map(([name, text]) => (
          <button
            key={name}
            type="button"
            role="tab"
            aria-selected={name === kind}
            onClick={() => setKind(name)}
          >
            {text}
          </button>
        ))}
      </div>
      <input
        class="filter"
        type="search"
        placeholder="Filter by title or label"
        aria-label="Filter by title or label"
        value={wanted}
        onInput={(event) => setWanted(event.currentTarget.value)}
      />
      {error !== undefined && items.length === 0 ? (
        <Trouble error={error} again={again} />
      ) : !isLoaded ? (
        <Skeleton rows={9} />
      ) : shown.length === 0 ? (
        <Empty title="Nothing is here yet." command="quipu import" />
      ) : (
        <VirtualList
          class="items"
          onScroll={(offset) => {
            if (offset > ITEM_PX * (items.length - 30)) more();
          }}
        >
          {shown.map((item, row) => (
            <Item key={`${item.kind}/${item.id}`} item={item} isChosen={row === at} />
          ))}
        </VirtualList>
      )}
    </nav>
  );
}

function Item({ item, isChosen }: { item: ThreadItem; isChosen: boolean }): JSX.Element {
  const to = viewOf(item);
  const isOpen = isShown(item, view.value);
  return (
    <Go to={to} class={`item ${isOpen ? 'on' : ''} ${isChosen ? 'chosen' : ''}`} isCurrent={isOpen}>
      <span class="t">
        <b>{firstLine(item.title, 100)}</b>
        <Time at={item.updatedAt} />
      </span>
      <small>{firstLine(item.detail ?? '', 120) || '\u00a0'}</small>
      <span class="kind">
        <i>{item.kind}</i>
        {factsOf(item).map((fact) => ` · ${fact}`)}
      </span>
    </Go>
  );
}

function factsOf(item: ThreadItem): string[] {
  return [
    ...(item.live === true ? ['live'] : []),
    ...(item.labels ?? []).slice(0, 2).map(visible),
    ...(item.turns === undefined ? [] : [plural(item.turns, ...UNITS[item.kind])]),
    ...(item.state === undefined ? [] : [item.state]),
  ];
}

export const UNITS: Readonly<Record<Kind, readonly [one: string, many: string]>> = {
  context: ['turn', 'turns'],
  chat: ['event', 'events'],
  workflow: ['step', 'steps'],
  session: ['entry', 'entries'],
  queue: ['event', 'events'],
};

export function viewOf({ kind, id }: { kind: Kind; id: string }): View {
  if (kind === 'context') return { at: 'context', context: id };
  if (kind === 'chat') return { at: 'chat', chat: id };
  if (kind === 'workflow') return { at: 'workflow', thread: id };
  if (kind === 'session') return { at: 'session', session: id };
  return { at: 'queue', queue: id };
}

function isShown({ kind, id }: ThreadItem, at: View): boolean {
  if (at.at === 'context' || at.at === 'branches') return kind === 'context' && at.context === id;
  const to = viewOf({ kind, id });
  return to.at === at.at && JSON.stringify(to) === JSON.stringify(at);
}

function matches({ title, labels = [], id }: ThreadItem, wanted: string): boolean {
  const words = wanted.toLowerCase().trim();
  if (words === '') return true;
  return [title, id, ...labels].some((text) => text.toLowerCase().includes(words));
}

interface Items {
  readonly items: readonly ThreadItem[];
  readonly isLoaded: boolean;
  readonly error: ApiError | undefined;
  readonly more: () => void;
  readonly again: () => void;
}

function useItems(kind: Kind | 'all'): Items {
  const [state, setState] = useState<{ kind: string; items: ThreadItem[]; cursor?: string }>();
  const [error, setError] = useState<ApiError>();
  const busy = useRef(false);
  const given = kind === 'all' ? {} : { kind };
  const read = (limit: number, cursor?: string): Promise<Answers['listAll']> =>
    ask('listAll', { ...given, limit, ...(cursor !== undefined && { cursor }) });
  const again = (limit = PAGE): void => {
    read(limit).then(
      (page) => {
        setError(undefined);
        setState({ kind, ...page, items: [...page.items] });
      },
      (problem: ApiError) => {
        noteError(problem);
        setError(problem);
      },
    );
  };
  const loaded = state?.kind === kind ? state : undefined;
  const length = useRef(PAGE);
  length.current = Math.max(PAGE, Math.min(loaded?.items.length ?? 0, 600));
  useEffect(() => again(), [kind]);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const soon = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        again(length.current);
      }, REFRESH_MS);
    };
    const stop = onStoreEvent(soon);
    const unlink = link.subscribe((state) => {
      if (state === 'live') soon();
    });
    return () => {
      clearTimeout(timer);
      stop();
      unlink();
    };
  }, [kind]);
  return {
    items: loaded?.items ?? [],
    isLoaded: loaded !== undefined,
    error,
    again: () => again(),
    more: () => {
      const cursor = loaded?.cursor;
      const isFull = (loaded?.items.length ?? 0) >= ITEMS_MAX;
      if (cursor === undefined || busy.current || isFull) return;
      busy.current = true;
      read(PAGE, cursor)
        .then((page) => {
          const known = new Set(loaded?.items.map(({ kind: of, id }) => `${of}/${id}`));
          const fresh = page.items.filter((item) => !known.has(`${item.kind}/${item.id}`));
          setState({ kind, ...page, items: [...(loaded?.items ?? []), ...fresh] });
        })
        .catch(noteError)
        .finally(() => (busy.current = false));
    },
  };
}
