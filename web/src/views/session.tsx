import type { JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { ask } from '../api/http.ts';
import { Empty, KeyValues, Skeleton, Time, Trouble } from '../parts/basics.tsx';
import { Blocks } from '../parts/blocks.tsx';
import { Found } from '../parts/found.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { LongList } from '../parts/long-list.tsx';
import { isToolTurn, speakerOf } from '../parts/turn-card.tsx';
import type { VListHandle } from '../parts/virtual-list.tsx';
import { pairCalls, type Knot } from '../shapes/pair-calls.ts';
import { showPayload } from '../shapes/show-turn.ts';
import { textOf } from '../shapes/shown.ts';
import { useTitle } from '../state/app.ts';
import { bytes, count, exactTime, shortHash, visible } from '../state/format.ts';
import { useLoad } from '../state/load.ts';
import { usePaged } from '../state/paged.ts';

interface Entry {
  readonly type: string;
  readonly id?: string;
  readonly timestamp?: string | number;
}

type EntryKnot = Knot<{ id: string; entry: Entry }>;

/** Entries without an id are named by their time. */
const idOf = ({ id, timestamp, type }: Entry): string => id ?? `${type} ${timestamp ?? ''}`;

/** The entries of a session of a coding agent. References to pictures stay references until they are drawn. */
export function SessionView({
  session,
  entry: asked,
  query,
}: {
  session: string;
  entry?: string;
  /** The search that led to the entry. */
  query?: string;
}): JSX.Element {
  const [chosen, setChosen] = useState<Entry>();
  const [warnings, setWarnings] = useState<readonly string[]>([]);
  const list = useRef<VListHandle>(null);
  const info = useLoad(`session ${session}`, (signal) =>
    ask('getSession', { id: session }, { signal }),
  );
  const paged = usePaged<Entry>(
    {
      key: `entries ${session}`,
      idOf,
      read: async ({ before, limit }, signal) => {
        const given = { id: session, last: limit, before, hydrate: false };
        const { entries, cursor, ...more } = await ask('readEntries', given, { signal });
        setWarnings((more as { warnings?: readonly string[] }).warnings ?? []);
        return { items: entries as unknown as Entry[], cursor };
      },
    },
    asked,
  );
  const { items: entries, isLoaded } = paged;
  const knots = useMemo(() => toKnots(entries), [entries]);
  const problem = info.error ?? paged.error;
  if (problem !== undefined) return <Trouble error={problem} again={paged.again} />;
  const isAsked = ({ turn, more }: EntryKnot): boolean =>
    [turn, ...more].some(({ id }) => id === asked);
  const at = knots.findIndex(isAsked);
  return (
    <>
      <main class="thread" aria-label="Session">
        {!isLoaded ? (
          <Skeleton rows={6} />
        ) : entries.length === 0 ? (
          <Empty title="This session has no entries yet." />
        ) : (
          <LongList
            place={`${session}/${asked ?? ''}`}
            items={knots}
            at={at === -1 ? undefined : at}
            end={knots.at(-1)?.turn.id}
            hasNewer={paged.hasNewer}
            shift={paged.atTop}
            older={paged.older}
            newer={paged.newer}
            handle={list}
          >
            {knots.map((knot) => {
              const { turn, more } = knot;
              const isChosen =
                chosen === undefined
                  ? isAsked(knot)
                  : [turn, ...more].some(({ entry }) => entry === chosen);
              return (
                <EntryCard
                  key={turn.id}
                  {...{ knot, isChosen }}
                  query={isAsked(knot) ? query : undefined}
                  onChoose={() => setChosen(turn.entry)}
                />
              );
            })}
          </LongList>
        )}
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

function toKnots(entries: readonly Entry[]): readonly EntryKnot[] {
  return pairCalls(
    entries.map((entry) => ({
      turn: { id: idOf(entry), entry },
      shown: showPayload(entry, entry.type),
      at: timeOf(entry) || 0,
      isReadable: true,
    })),
  );
}

function EntryCard({
  knot,
  isChosen,
  query,
  onChoose,
}: {
  knot: EntryKnot;
  isChosen: boolean;
  query: string | undefined;
  onChoose: () => void;
}): JSX.Element {
  const { shown, answers } = knot;
  const { entry } = knot.turn;
  return (
    <article
      class={`turn ${isToolTurn(shown) ? 'tool' : ''} ${isChosen ? 'on' : ''}`}
      onClick={onChoose}
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
        <Found query={query}>
          <Blocks blocks={shown.blocks} answers={answers} />
        </Found>
      </div>
    </article>
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
