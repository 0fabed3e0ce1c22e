import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Search } from 'lucide';
import type { Answers } from '../api/answers.ts';
import { ApiError, ask } from '../api/http.ts';
import { Go, Icon } from '../parts/basics.tsx';
import type { View } from '../state/address.ts';
import { go, noteError, overlay } from '../state/app.ts';
import { ago, count, firstLine, plural, visible } from '../state/format.ts';
import { viewOf } from './side-list.tsx';

type Answer = Answers['search'];
type Group = NonNullable<Answer['groups']>[number];
type Hit = Group['hits'][number];

const TYPING_MS = 120;
/** An answer from an index that still reads is asked for again after this time. */
const READING_MS = 1000;

/** The panel over the page: results as you type, Enter opens the chosen one. */
export function SearchPanel(): JSX.Element {
  const [query, setQuery] = useState('');
  return (
    <SearchBox
      query={query}
      onQuery={setQuery}
      onWhole={() => {
        overlay.value = undefined;
        go({ at: 'search', query });
      }}
    />
  );
}

/** The same on a page of its own, with an address that can be shared. */
export function SearchView({ query }: { query: string }): JSX.Element {
  return (
    <main class="search-page" aria-label="Search">
      <div class="panel">
        <SearchBox
          query={query}
          onQuery={(text) => go({ at: 'search', query: text }, { replace: true })}
        />
      </div>
    </main>
  );
}

interface BoxGiven {
  readonly query: string;
  readonly onQuery: (query: string) => void;
  /** Opens the page of search with this query. */
  readonly onWhole?: () => void;
}

function SearchBox({ query, onQuery, onWhole }: BoxGiven): JSX.Element {
  const [kind, setKind] = useState<string>();
  const [order, setOrder] = useState<'best' | 'newest'>('best');
  const { answer, error, ms } = useSearch(
    kind === undefined ? query : `${query} kind:${kind}`,
    order,
  );
  const [at, setAt] = useState(0);
  const place = useRef<HTMLInputElement>(null);
  useEffect(() => place.current?.focus(), []);
  useEffect(() => setAt(0), [answer]);
  const hits = (answer?.groups ?? []).flatMap((group) => group.hits);
  const chosen = hits[at];
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') setAt(Math.min(at + 1, hits.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0));
    else if (event.key === 'Enter' && chosen !== undefined) go(viewOfHit(chosen, query));
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div class="ask">
        <Icon of={Search} />
        <input
          ref={place}
          type="search"
          placeholder='Words, "a phrase", role:user, tool:Bash, after:7d'
          aria-label="Search everything"
          value={query}
          onInput={(event) => onQuery(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        {answer !== undefined && (
          <span class="muted" role="status">
            {plural(answer.matches, 'hit')}, {ms} ms
          </span>
        )}
      </div>
      {error !== undefined && <pre class="plain">{visible(error)}</pre>}
      {answer?.facets !== undefined && (
        <Facets {...{ facets: answer.facets, kind, order }} onKind={setKind} onOrder={setOrder} />
      )}
      <div class="hits">
        {answer?.groups?.map((group) => (
          <GroupOfHits key={`${group.kind}/${group.thread}`} {...{ group, chosen, query }} />
        ))}
        {answer !== undefined && hits.length === 0 && query.trim() !== '' && (
          <p class="ends muted">Nothing was found.</p>
        )}
        {answer !== undefined && !answer.index.upToDate && (
          <p class="ends muted">
            The index is still reading: {count(answer.index.documents)} texts so far.
          </p>
        )}
      </div>
      <footer class="hints">
        <span>
          <kbd>↑</kbd> <kbd>↓</kbd> choose
        </span>
        <span>
          <kbd>Enter</kbd> open
        </span>
        {onWhole === undefined ? (
          <span class="syntax">
            <code>"a phrase"</code> <code>role:user</code> <code>tool:Bash</code>{' '}
            <code>after:7d</code>
          </span>
        ) : (
          <button type="button" class="quiet" onClick={onWhole}>
            Open as a page
          </button>
        )}
      </footer>
    </>
  );
}

function Facets({
  facets,
  kind,
  order,
  onKind,
  onOrder,
}: {
  facets: NonNullable<Answer['facets']>;
  kind: string | undefined;
  order: 'best' | 'newest';
  onKind: (kind: string | undefined) => void;
  onOrder: (order: 'best' | 'newest') => void;
}): JSX.Element {
  return (
    <div class="facets" role="group" aria-label="Kinds">
      <button type="button" aria-pressed={kind === undefined} onClick={() => onKind(undefined)}>
        all
      </button>
      {facets.kind.map(({ value, count: matches }) => (
        <button
          key={value}
          type="button"
          aria-pressed={kind === value}
          onClick={() => onKind(kind === value ? undefined : value)}
        >
          {value} {count(matches)}
        </button>
      ))}
      <button
        type="button"
        class="order quiet"
        onClick={() => onOrder(order === 'best' ? 'newest' : 'best')}
      >
        {order} first
      </button>
    </div>
  );
}

function GroupOfHits({
  group,
  chosen,
  query,
}: {
  group: Group;
  chosen: Hit | undefined;
  query: string;
}): JSX.Element {
  return (
    <section>
      <h2>
        <span>{firstLine(group.title ?? `${group.kind} ${group.thread}`, 80)}</span>
        <span>{plural(group.matches, 'hit')}</span>
      </h2>
      {group.hits.map((hit) => (
        <Go key={hit.id} to={viewOfHit(hit, query)} class={`hit ${hit === chosen ? 'on' : ''}`}>
          <span>
            <Marked snippet={hit.snippet} />
          </span>
          <small>
            {[
              hit.kind === 'context' ? `turn ${count(hit.id)}` : hit.kind,
              hit.role,
              hit.model,
              ago(hit.at),
              hit.branches.length > 1
                ? `on ${hit.branches.length}${hit.moreBranches === true ? ' and more' : ''} branches`
                : undefined,
            ]
              .filter((part) => part !== undefined)
              .map(visible)
              .join(' · ')}
          </small>
        </Go>
      ))}
    </section>
  );
}

/** The snippet with the words that matched. */
function Marked({ snippet }: { snippet: Hit['snippet'] }): JSX.Element {
  const parts: JSX.Element[] = [];
  let from = 0;
  for (const [at, [start = 0, end = 0]] of snippet.marks.entries()) {
    parts.push(<span key={`a${at}`}>{visible(snippet.text.slice(from, start))}</span>);
    parts.push(<mark key={`b${at}`}>{visible(snippet.text.slice(start, end))}</mark>);
    from = end;
  }
  return (
    <>
      {parts}
      {visible(snippet.text.slice(from))}
    </>
  );
}

/** Where a hit is. The query goes along, so that its words are marked there. */
function viewOfHit({ kind, thread, id }: Hit, query: string): View {
  if (kind === 'context') return { at: 'context', context: thread, turn: id, query };
  if (kind === 'chat') return { at: 'chat', chat: thread, message: id, query };
  if (kind === 'session') return { at: 'session', session: thread, entry: id, query };
  if (kind === 'workflow') return { at: 'workflow', thread, step: id, query };
  // An artifact belongs to its session.
  return viewOf({ kind: kind === 'artifact' ? 'session' : kind, id: thread });
}

interface Found {
  readonly answer: Answer | undefined;
  readonly error: string | undefined;
  readonly ms: number;
}

/** Asks when typing pauses, and again while the index reads. The last answer stays until the next one is there. */
function useSearch(query: string, order: 'best' | 'newest'): Found {
  const [found, setFound] = useState<Found>({ answer: undefined, error: undefined, ms: 0 });
  useEffect(() => {
    const ended = new AbortController();
    const { signal } = ended;
    if (query.trim() === '') {
      setFound({ answer: undefined, error: undefined, ms: 0 });
      return undefined;
    }
    const look = async (): Promise<void> => {
      const startedMs = performance.now();
      try {
        const given = { q: query, order, group: true, facets: true, limit: 20 };
        const answer = await ask('search', given, { signal });
        if (signal.aborted) return;
        const ms = Math.round(performance.now() - startedMs);
        setFound({ answer, error: undefined, ms });
        if (!answer.index.upToDate) timer = setTimeout(() => void look(), READING_MS);
      } catch (error) {
        if (signal.aborted) return;
        noteError(error);
        const text = error instanceof ApiError ? error.message : String(error);
        setFound((old) => ({ ...old, error: text }));
      }
    };
    let timer = setTimeout(() => void look(), TYPING_MS);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [query, order]);
  return found;
}
