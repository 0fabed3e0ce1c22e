import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ask } from '../api/http.ts';
import { Empty, Go, laneColour, Skeleton, Trouble } from '../parts/basics.tsx';
import { Markdown } from '../parts/markdown.tsx';
import type { SameBytes } from '../parts/blocks.tsx';
import { toKnots, TurnCard } from '../parts/turn-card.tsx';
import { LongList } from '../parts/long-list.tsx';
import type { VListHandle } from '../parts/virtual-list.tsx';
import type { Knot } from '../shapes/pair-calls.ts';
import { go, onStoreEvent, useTitle } from '../state/app.ts';
import { plural, visible } from '../state/format.ts';
import { useLoad, useTree } from '../state/load.ts';
import { chosenTurn, useKeys } from '../state/keys.ts';
import { layOut, type Tree } from '../state/tree.ts';
import { useThread, type Thread } from '../state/thread.ts';
import { hasNewer, type TurnJson } from '../state/turn-window.ts';
import { Inspector } from './inspector.tsx';

/** The conversation of one context, up to its head or around a turn. */
export function ThreadView({
  context,
  turn,
  query,
}: {
  context: string;
  turn?: string;
  /** The search that led to the turn. */
  query?: string;
}): JSX.Element {
  const info = useLoad(`context ${context}`, (signal) =>
    ask('getContext', { id: context }, { signal }),
  );
  const tree = useTree(context);
  const thread = useThread(context, turn);
  const [chosen, setChosen] = useState(turn);
  useEffect(() => setChosen(turn), [context, turn]);
  useEffect(
    () =>
      onStoreEvent(({ event, data }) => {
        if (event === 'context.created') tree.again();
        const { context: changed } = data as { context?: { id: string } };
        if (event === 'context.updated' && changed?.id === context) info.again();
      }),
    [context],
  );
  useTitle(info.value?.title ?? info.value?.name);
  const current = thread.window.turns.find(({ id }) => id === chosen);
  return (
    <>
      <main
        class="thread"
        aria-label="Conversation"
        style={{ '--c': laneColour(laneIn(tree.value, context)) }}
      >
        {thread.error === undefined ? (
          <Turns
            {...{ context, turn, query, thread, chosen, tree: tree.value }}
            onChoose={(id) => setChosen(id)}
          />
        ) : (
          <Trouble error={thread.error} again={thread.again} />
        )}
      </main>
      <Inspector context={info.value} tree={tree.value} turn={current} onChange={info.again} />
    </>
  );
}

/** The cord has the colour of its branch. */
function laneIn(tree: Tree | undefined, context: string): number {
  return tree === undefined ? 0 : (layOut(tree).laneOf.get(context) ?? 0);
}

interface TurnsGiven {
  readonly context: string;
  readonly turn: string | undefined;
  readonly query: string | undefined;
  readonly thread: Thread;
  readonly tree: Tree | undefined;
  readonly chosen: string | undefined;
  readonly onChoose: (id: string) => void;
}

function Turns({ context, turn, query, thread, tree, chosen, onChoose }: TurnsGiven): JSX.Element {
  const { window, writing, isLoaded } = thread;
  const { turns } = window;
  const list = useRef<VListHandle>(null);
  const knots = useMemo(() => toKnots(turns), [turns]);
  const sameBytes = useSameBytes(turns);
  const forks = useForks(tree);
  useChosenByKeys(knots, chosen, (id, at) => {
    onChoose(id);
    list.current?.scrollToIndex(at, { align: 'nearest' });
  });
  useEffect(() => {
    chosenTurn.value = chosen;
  }, [chosen]);
  if (!isLoaded) return <Skeleton rows={8} />;
  if (turns.length === 0 && writing === undefined) {
    return (
      <Empty
        title="Nothing was said here yet."
        command={`quipu context append ${context} --type note --text hello`}
      />
    );
  }
  const at = turn === undefined ? -1 : knots.findIndex((knot) => isIn(knot, turn));
  return (
    <LongList
      place={`${context}/${turn ?? ''}`}
      items={knots}
      at={at === -1 ? undefined : at}
      tail={writing}
      end={turns.at(-1)?.id}
      hasNewer={hasNewer(window)}
      shift={window.atTop}
      older={thread.older}
      newer={thread.newer}
      handle={list}
    >
      {knots.map((knot) => (
        <KnotWithForks
          key={knot.turn.id}
          {...{ knot, sameBytes, context }}
          isChosen={chosen !== undefined && isIn(knot, chosen)}
          query={turn !== undefined && isIn(knot, turn) ? query : undefined}
          forks={forks.get((knot.more.at(-1) ?? knot.turn).id) ?? forks.get(knot.turn.id)}
          onChoose={() => onChoose(knot.turn.id)}
          onWhole={() => thread.whole(knot.turn.id)}
        />
      ))}
      {writing !== undefined && !hasNewer(window) && (
        <article key="writing" class="turn writing" aria-live="polite" aria-busy="true">
          <i class="knot" />
          <div class="said">
            <header>
              <b>Assistant</b>
              <span>writing</span>
              <span class="at">now</span>
            </header>
            <Markdown text={writing.text} />
            <i class="caret" />
          </div>
        </article>
      )}
      {hasNewer(window) && (
        <p key="newer" class="ends">
          <Go to={{ at: 'context', context }}>Jump to the newest turn</Go>
        </p>
      )}
    </LongList>
  );
}

/** A branch that leaves at a turn. */
interface Fork {
  readonly context: string;
  readonly name: string;
  readonly lane: number;
  readonly turns: number;
}

function isIn({ turn, more }: Knot<TurnJson>, id: string): boolean {
  return turn.id === id || more.some((one) => one.id === id);
}

/** The first turn of the window with the same payload, for a turn that is not it. */
function useSameBytes(turns: readonly TurnJson[]): SameBytes {
  return useMemo(() => {
    const first = new Map<string, string>();
    const same = new Map<string, string>();
    for (const { id, payloadHash } of turns) {
      if (payloadHash === undefined) continue;
      const known = first.get(payloadHash);
      if (known === undefined) first.set(payloadHash, id);
      else same.set(id, known);
    }
    return (turn) => same.get(turn);
  }, [turns]);
}

function KnotWithForks({
  knot,
  sameBytes,
  isChosen,
  query,
  context,
  forks,
  onChoose,
  onWhole,
}: {
  knot: Knot<TurnJson>;
  sameBytes: SameBytes;
  isChosen: boolean;
  query: string | undefined;
  context: string;
  forks: readonly Fork[] | undefined;
  onChoose: () => void;
  onWhole: () => void;
}): JSX.Element {
  return (
    <>
      <TurnCard {...{ knot, isChosen, query, sameBytes, onChoose, onWhole }} />
      {forks !== undefined && (
        <nav class="forks" aria-label="Branches from here">
          {forks.map((fork) => (
            <Go
              key={fork.context}
              to={{ at: 'context', context: fork.context }}
              class={fork.context === context ? 'here' : ''}
              style={{ '--c': laneColour(fork.lane) }}
            >
              {visible(fork.name)}
              {fork.turns > 0 && ` · ${plural(fork.turns, 'turn')}`}
            </Go>
          ))}
        </nav>
      )}
    </>
  );
}

/** Where branches part: the turn, and the branches that go on from it. */
function useForks(tree: Tree | undefined): ReadonlyMap<string, readonly Fork[]> {
  return useMemo(() => {
    const forks = new Map<string, Fork[]>();
    if (tree === undefined) return forks;
    const { rows, laneOf } = layOut(tree);
    for (const { node, branch, heads, between } of rows) {
      const from = node.parent;
      if (from !== undefined) put(forks, from, toFork(branch, laneOf, between + 1));
      for (const head of heads) {
        if (head.context !== branch.context) put(forks, node.turn, toFork(head, laneOf, 0));
      }
    }
    for (const [turn, list] of forks) {
      if (list.length < 2) forks.delete(turn);
      else list.sort((a, b) => a.lane - b.lane);
    }
    return forks;
  }, [tree]);
}

function put(forks: Map<string, Fork[]>, turn: string, fork: Fork): void {
  const list = forks.get(turn) ?? [];
  if (!list.some(({ context }) => context === fork.context)) list.push(fork);
  forks.set(turn, list);
}

function toFork(
  { context, title, name }: Tree['branches'][number],
  laneOf: ReadonlyMap<string, number>,
  turns: number,
): Fork {
  const shown = title ?? name ?? `context ${context}`;
  return { context, name: shown, lane: laneOf.get(context) ?? 0, turns };
}

function useChosenByKeys(
  knots: readonly Knot<TurnJson>[],
  chosen: string | undefined,
  choose: (id: string, at: number) => void,
): void {
  useKeys((key) => {
    const at = chosen === undefined ? -1 : knots.findIndex((knot) => isIn(knot, chosen));
    const step = key === 'j' ? 1 : key === 'k' ? -1 : 0;
    if (step !== 0) {
      const start = at === -1 ? (step === 1 ? -1 : knots.length) : at;
      const next = Math.min(Math.max(start + step, 0), knots.length - 1);
      const knot = knots[next];
      if (knot !== undefined) choose(knot.turn.id, next);
      return true;
    }
    const [first] = knots;
    if (key === 'b' && first !== undefined) {
      go({ at: 'branches', context: (knots[at] ?? first).turn.context });
      return true;
    }
    return false;
  });
}
