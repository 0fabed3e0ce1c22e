import type { TurnId } from '../base/brand.ts';
import { QuipuError } from '../base/errors.ts';
import type { EraseReport } from '../engine/upkeep.ts';

/** What the commands that erase take. */
export interface ErasureOptions {
  readonly reason: string;
  readonly everywhere?: boolean;
}

/** Ids as decimal strings. */
export function toErasureJson({ hash, erased, usedBy }: EraseReport): object {
  return { hash, erased, usedBy: usedBy.map(String) };
}

/** For a command that erased nothing, because others need the bytes. */
export function stillUsed(reports: readonly EraseReport[], own?: TurnId): QuipuError<'LOCKED'> {
  const turns = new Set(reports.flatMap(({ usedBy }) => usedBy));
  if (own !== undefined) turns.delete(own);
  const listed = [...turns].toSorted((a, b) => (a < b ? -1 : 1)).join(', ');
  return new QuipuError(
    'LOCKED',
    `nothing was erased, because the same bytes are used by turns ${listed}; erase them all with --everywhere`,
    { what: 'blob', owner: listed },
  );
}
