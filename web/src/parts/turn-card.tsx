import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { showPayload } from '../shapes/show-turn.ts';
import type { Block, Role, Shown } from '../shapes/shown.ts';
import { bytes, clockTime, count, exactTime, plural, visible } from '../state/format.ts';
import type { TurnJson } from '../state/turn-window.ts';
import { Blocks } from './blocks.tsx';

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

/** Names of calls by their ids, so that a result can say which call it answers. */
export type CallNames = ReadonlyMap<string, string>;

export function namesOfCalls(turns: readonly { shown: Shown }[]): CallNames {
  const names = new Map<string, string>();
  for (const { shown } of turns) {
    for (const block of shown.blocks) {
      if (block.kind === 'call' && block.id !== undefined) names.set(block.id, block.name);
    }
  }
  return names;
}

/** One knot on the cord: who, when, and what. */
export function TurnCard({
  turn,
  isChosen,
  calls,
  onChoose,
  onWhole,
}: {
  turn: TurnJson;
  isChosen: boolean;
  calls: CallNames;
  onChoose: () => void;
  onWhole: () => void;
}): JSX.Element {
  const shown = useMemo(() => showPayload(turn.payload, turn.type), [turn]);
  const isTool = shown.role === 'tool';
  const isLeftOut = turn.payload === undefined && turn.tombstone !== true && turn.size > 0;
  const { tokens } = shown;
  const spent = (tokens?.input ?? 0) + (tokens?.output ?? 0);
  return (
    <article
      class={`turn ${isTool ? 'tool' : ''} ${isChosen ? 'on' : ''}`}
      id={`turn-${turn.id}`}
      aria-label={`Turn ${turn.id}`}
      onClick={onChoose}
    >
      <i class="knot" />
      <div class="said">
        <header>
          <b>{speakerOf(shown, turn.type)}</b>
          {shown.model !== undefined && <span>{visible(shown.model)}</span>}
          {spent > 0 && <span>{plural(spent, 'token')}</span>}
          {turn.outcome !== undefined && <span class="bad">{turn.outcome}</span>}
          {turn.patched === true && turn.tombstone !== true && <span>edited</span>}
          <span class="at">
            <span class="id">turn {count(turn.id)}</span>
            <time title={exactTime(turn.createdAt)}>{clockTime(turn.createdAt)}</time>
          </span>
        </header>
        {turn.tombstone === true ? (
          <p class="muted">This turn was hidden: {visible(turn.reason ?? 'no reason was given')}</p>
        ) : isLeftOut ? (
          <button type="button" onClick={onWhole}>
            Load the payload, {bytes(turn.size)}
          </button>
        ) : (
          <Blocks blocks={withNames(shown.blocks, calls)} />
        )}
      </div>
    </article>
  );
}

function withNames(blocks: readonly Block[], calls: CallNames): readonly Block[] {
  return blocks.map((block) => {
    if (block.kind !== 'result' || block.name !== undefined || block.id === undefined) return block;
    const name = calls.get(block.id);
    return name === undefined ? block : { ...block, name };
  });
}
