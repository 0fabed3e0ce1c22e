import type { TurnId } from '../../base/brand.ts';
import { type QuipuError, locked } from '../../base/errors.ts';
import type { EraseReport } from '../../engine/upkeep.ts';

const NOUNS: Readonly<Record<string, string>> = {
  chats: 'chat',
  workflows: 'workflow',
  sessions: 'session',
};

/** The error of a command that erased nothing, because other turns need the bytes. */
export function stillUsed(reports: readonly EraseReport[], own?: TurnId): QuipuError<'LOCKED'> {
  const turns = new Set(reports.flatMap(({ usedBy }) => usedBy));
  if (own !== undefined) turns.delete(own);
  const listed = [
    ...(turns.size === 0 ? [] : [`turns ${toSorted(turns).join(', ')}`]),
    ...new Set(
      reports.flatMap(({ neededBy }) => neededBy.map(({ kind, id }) => `${NOUNS[kind]} ${id}`)),
    ),
  ].join(', ');
  return locked(
    'blob',
    listed,
    `nothing was erased, because the same bytes are used by ${listed}; erase them all with --everywhere`,
  );
}

function toSorted(turns: Iterable<TurnId>): TurnId[] {
  return [...turns].toSorted((a, b) => (a < b ? -1 : 1));
}
