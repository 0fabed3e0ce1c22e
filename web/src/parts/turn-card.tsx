import type { JSX } from 'preact';
import { pairCalls, type Answer, type Knot } from '../shapes/pair-calls.ts';
import { showPayload } from '../shapes/show-turn.ts';
import type { Role, Shown } from '../shapes/shown.ts';
import { bytes, clockTime, count, exactTime, plural, visible } from '../state/format.ts';
import type { TurnJson } from '../state/turn-window.ts';
import { Blocks, type SameBytes } from './blocks.tsx';
import { Found } from './found.tsx';

export const SPEAKERS: Readonly<Record<Role, string>> = {
  user: 'You',
  assistant: 'Assistant',
  system: 'System',
  tool: 'Tool',
  other: '',
};

export function speakerOf({ role, name }: Pick<Shown, 'role' | 'name'>, type: string): string {
  return visible(name ?? (SPEAKERS[role] || type));
}

/** A turn with nothing but calls and results is a small knot without a head. */
export function isToolTurn({ role, blocks }: Shown): boolean {
  if (role === 'tool') return true;
  return blocks.length > 0 && blocks.every(({ kind }) => kind === 'call' || kind === 'result');
}

/** Whether the payload of a turn is at hand. */
export function isReadable({ payload, tombstone, size }: TurnJson): boolean {
  return tombstone !== true && (payload !== undefined || size === 0);
}

/** Turns as they are drawn, each result with its call. */
export function toKnots(turns: readonly TurnJson[]): readonly Knot<TurnJson>[] {
  return pairCalls(
    turns.map((turn) => {
      const shown = showPayload(turn.payload, turn.type);
      return {
        turn,
        shown,
        at: shown.at ?? turn.createdAt,
        isReadable: isReadable(turn) && turn.payload !== undefined,
      };
    }),
  );
}

/** What a turn says, or why it says nothing. */
export function TurnBody({
  turn,
  shown,
  answers,
  sameBytes,
  onWhole,
}: {
  turn: TurnJson;
  shown: Shown;
  answers?: ReadonlyMap<number, Answer>;
  sameBytes?: SameBytes;
  onWhole?: () => void;
}): JSX.Element {
  if (turn.tombstone === true) {
    return (
      <p class="muted">This turn was hidden: {visible(turn.reason ?? 'no reason was given')}</p>
    );
  }
  if (isReadable(turn)) {
    return (
      <Blocks
        blocks={shown.blocks}
        {...(answers !== undefined && { answers })}
        {...(sameBytes !== undefined && { sameBytes })}
      />
    );
  }
  if (onWhole === undefined) return <p class="muted">A payload of {bytes(turn.size)}</p>;
  return (
    <button type="button" onClick={onWhole}>
      Load the payload, {bytes(turn.size)}
    </button>
  );
}

/** One knot on the cord: who, when, and what. */
export function TurnCard({
  knot,
  isChosen,
  query,
  sameBytes,
  onChoose,
  onWhole,
}: {
  knot: Knot<TurnJson>;
  isChosen: boolean;
  /** The search that led to this turn. */
  query: string | undefined;
  sameBytes: SameBytes;
  onChoose: () => void;
  onWhole: () => void;
}): JSX.Element {
  const { turn, shown, answers } = knot;
  const { tokens, at = turn.createdAt } = shown;
  const spent = (tokens?.input ?? 0) + (tokens?.output ?? 0);
  return (
    <article
      class={`turn ${isToolTurn(shown) ? 'tool' : ''} ${isChosen ? 'on' : ''}`}
      id={`turn-${turn.id}`}
      aria-label={`Turn ${turn.id}`}
      onClick={onChoose}
    >
      <i class="knot" />
      <div class="said">
        <header>
          <b>{speakerOf(shown, turn.type)}</b>
          <span class="id">turn {count(turn.id)}</span>
          {shown.model !== undefined && <span>{visible(shown.model)}</span>}
          {spent > 0 && <span>{plural(spent, 'token')}</span>}
          {turn.outcome !== undefined && <span class="bad">{turn.outcome}</span>}
          {turn.patched === true && turn.tombstone !== true && <span>edited</span>}
          <time class="at" title={exactTime(at)}>
            {clockTime(at)}
          </time>
        </header>
        <Found query={query}>
          <TurnBody {...{ turn, shown, answers, sameBytes, onWhole }} />
        </Found>
      </div>
    </article>
  );
}
