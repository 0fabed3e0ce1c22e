import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { ask } from '../api/http.ts';
import { Empty, KeyValues, Skeleton, Time, Trouble } from '../parts/basics.tsx';
import { Blocks } from '../parts/blocks.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { isToolTurn, speakerOf } from '../parts/turn-card.tsx';
import { pairCalls } from '../shapes/pair-calls.ts';
import { showPayload } from '../shapes/show-turn.ts';
import { textOf } from '../shapes/shown.ts';
import { useTitle } from '../state/app.ts';
import { bytes, count, exactTime, shortHash, visible } from '../state/format.ts';
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
  const knots = useMemo(
    () =>
      pairCalls(
        entries.map((entry, at) => ({
          turn: { id: entry.id ?? String(at), entry },
          shown: showPayload(entry, entry.type),
          at: timeOf(entry) || 0,
          isReadable: true,
        })),
      ),
    [entries],
  );
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
            knots.map(({ turn: { id, entry }, shown, more, answers }) => (
              <article
                key={id}
                class={`turn ${isToolTurn(shown) ? 'tool' : ''} ${
                  chosen !== undefined && [entry, ...more.map((one) => one.entry)].includes(chosen)
                    ? 'on'
                    : ''
                }`}
                onClick={() => setChosen(entry)}
              >
                <i class="knot" />
                <div class="said">
                  <header>
                    <b>{speakerOf(shown, entry.type)}</b>
                    {shown.model !== undefined && <span>{visible(shown.model)}</span>}
                    <span class="at">
                      <Time at={timeOf(entry)} />
                    </span>
                  </header>
                  <Blocks blocks={shown.blocks} answers={answers} />
                </div>
              </article>
            ))
          )}
        </div>
      </main>
      <aside class="look" aria-label="Details">
        <h2>Session</h2>
        {info.value !== undefined && <SessionFacts session={session} facts={info.value as Facts} />}
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

/** Not a number for an entry without a time. */
function timeOf({ timestamp }: Entry): number {
  return timestamp === undefined ? Number.NaN : new Date(timestamp).getTime();
}

interface Facts {
  readonly file?: string;
  readonly header?: { readonly title?: unknown; readonly cwd?: unknown };
  readonly sizeBytes?: number;
  readonly updatedAt?: string;
  readonly artifacts?: readonly unknown[];
  readonly blobs?: number;
}

function SessionFacts({ session, facts }: { session: string; facts: Facts }): JSX.Element {
  const { header, sizeBytes, updatedAt, artifacts, blobs } = facts;
  useTitle(textOf(header?.title) ?? `Session ${session}`);
  return (
    <>
      <KeyValues
        rows={[
          ['id', <code title={session}>{shortHash(visible(session))}</code>],
          ['folder', visible(textOf(header?.cwd) ?? 'unknown')],
          updatedAt === undefined ? undefined : ['updated', exactTime(Date.parse(updatedAt))],
          sizeBytes === undefined ? undefined : ['size', bytes(sizeBytes)],
          artifacts === undefined ? undefined : ['artifacts', count(artifacts.length)],
          blobs === undefined ? undefined : ['blobs', count(blobs)],
        ]}
      />
      <JsonTree value={facts} open={false} />
    </>
  );
}
