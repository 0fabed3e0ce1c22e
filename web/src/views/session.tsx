import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { ask } from '../api/http.ts';
import { Empty, KeyValues, Skeleton, Time, Trouble } from '../parts/basics.tsx';
import { Blocks } from '../parts/blocks.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { namesOfCalls, speakerOf } from '../parts/turn-card.tsx';
import { showPayload } from '../shapes/show-turn.ts';
import { visible } from '../state/format.ts';
import { useLoad } from '../state/load.ts';

interface Entry {
  readonly type: string;
  readonly id?: string;
  readonly timestamp?: string | number;
}

const PAGE = 200;

/** The entries of a session of a coding agent. References to pictures stay references until they are drawn. */
export function SessionView({ session }: { session: string }): JSX.Element {
  const [last, setLast] = useState(PAGE);
  const [chosen, setChosen] = useState<Entry>();
  const info = useLoad(`session ${session}`, (signal) =>
    ask('getSession', { id: session }, { signal }),
  );
  const page = useLoad(`entries ${session} ${last}`, (signal) =>
    ask('readEntries', { id: session, last, hydrate: false }, { signal }),
  );
  const entries = useMemo(
    () => (page.value?.entries ?? []).map((entry) => entry as Entry),
    [page.value],
  );
  const shown = useMemo(
    () => entries.map((entry) => ({ entry, shown: showPayload(entry, entry.type) })),
    [entries],
  );
  const calls = useMemo(() => namesOfCalls(shown), [shown]);
  if (info.error !== undefined) return <Trouble error={info.error} again={info.again} />;
  const warnings = (page.value as { warnings?: readonly string[] } | undefined)?.warnings ?? [];
  return (
    <>
      <main class="thread" aria-label="Session">
        <div class="turns still">
          {page.value?.cursor !== undefined && (
            <button type="button" class="more" onClick={() => setLast(Math.min(last + PAGE, 1000))}>
              Older entries
            </button>
          )}
          {page.value === undefined ? (
            <Skeleton rows={6} />
          ) : entries.length === 0 ? (
            <Empty title="This session has no entries yet." />
          ) : (
            shown.map(({ entry, shown: one }, at) => (
              <article
                key={entry.id ?? at}
                class={`turn ${one.role === 'tool' ? 'tool' : ''} ${entry === chosen ? 'on' : ''}`}
                onClick={() => setChosen(entry)}
              >
                <i class="knot" />
                <div class="said">
                  <header>
                    <b>{speakerOf(one, entry.type)}</b>
                    {one.model !== undefined && <span>{visible(one.model)}</span>}
                    <span class="at">
                      {entry.timestamp !== undefined && (
                        <Time at={new Date(entry.timestamp).getTime()} />
                      )}
                    </span>
                  </header>
                  <Blocks
                    blocks={one.blocks.map((block) =>
                      block.kind === 'result' && block.id !== undefined && calls.has(block.id)
                        ? { ...block, name: calls.get(block.id) ?? '' }
                        : block,
                    )}
                  />
                </div>
              </article>
            ))
          )}
        </div>
      </main>
      <aside class="look" aria-label="Details">
        <h2>Session</h2>
        <KeyValues rows={[['id', <code>{visible(session)}</code>]]} />
        {info.value !== undefined && <JsonTree value={info.value} />}
        {warnings.map((warning) => (
          <p key={warning} class="bad">
            {visible(warning)}
          </p>
        ))}
        {chosen !== undefined && (
          <section>
            <h2>Entry</h2>
            <JsonTree value={chosen} />
          </section>
        )}
      </aside>
    </>
  );
}
