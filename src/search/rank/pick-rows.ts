import type { PickRequest } from '../contract/search-index.ts';
import { makeScore, type Candidate, type RankBasis } from './rank.ts';

/** A candidate with what decides its place and its counts. Names are numbers of the index. */
export interface CandidateRow extends Candidate {
  readonly thread: number;
  readonly ref: string | number;
  readonly depth: number;
  readonly at: number;
  readonly kind: number;
  readonly type: number;
  /** 0: none. */
  readonly model: number;
}

export interface RankedRow {
  readonly row: CandidateRow;
  readonly key: number;
  readonly score: number;
}

export interface PickedRows {
  readonly picked: readonly RankedRow[];
  readonly more: boolean;
  readonly matches: number;
  /** With `group`: matches by thread. */
  readonly groups?: ReadonlyMap<number, number>;
}

const GROUP_HITS = 3;

type Wish = Pick<PickRequest, 'order' | 'limit' | 'after' | 'group'>;

/**
 * The page of `wish` among the candidates, in order. A document with several rows, because it is long, counts once,
 * with its best row.
 */
export function pickRows(
  rows: readonly CandidateRow[],
  wish: Wish,
  basis: Omit<RankBasis, 'averageWords'> & {
    readonly has: (candidate: Candidate, leaf: number) => boolean;
  },
): PickedRows {
  const averageWords = rows.reduce((sum, { words }) => sum + words, 0) / Math.max(1, rows.length);
  const score = makeScore({ ...basis, averageWords: Math.max(1, averageWords) }, basis.has);
  const ranked = onePerDocument(
    rows.map((row): RankedRow => {
      const points = score(row);
      return { row, score: points, key: wish.order === 'newest' ? row.at : points };
    }),
  );
  if (wish.group) return pickGroups(ranked, wish);
  const { after, limit } = wish;
  const rest = after === undefined ? ranked : ranked.filter((one) => isBehind(one, after));
  const sorted = rest.toSorted(byPlace);
  return { picked: sorted.slice(0, limit), more: sorted.length > limit, matches: ranked.length };
}

function pickGroups(ranked: readonly RankedRow[], { after, limit }: Wish): PickedRows {
  const byThread = new Map<number, RankedRow[]>();
  for (const one of ranked.toSorted(byPlace)) {
    const known = byThread.get(one.row.thread);
    if (known === undefined) byThread.set(one.row.thread, [one]);
    else known.push(one);
  }
  const groups = [...byThread.values()].filter(
    ([first]) => after === undefined || (first !== undefined && isBehind(first, after)),
  );
  const shown = groups.slice(0, limit);
  return {
    picked: shown.flatMap((group) => group.slice(0, GROUP_HITS)),
    more: groups.length > limit,
    matches: ranked.length,
    groups: new Map(shown.map((group) => [group[0]?.row.thread ?? 0, group.length])),
  };
}

function onePerDocument(ranked: readonly RankedRow[]): readonly RankedRow[] {
  const best = new Map<string, RankedRow>();
  for (const one of ranked) {
    const name = `${one.row.thread} ${one.row.ref}`;
    const known = best.get(name);
    if (known === undefined || byPlace(one, known) < 0) best.set(name, one);
  }
  return [...best.values()];
}

function byPlace(a: RankedRow, b: RankedRow): number {
  return b.key - a.key || b.row.id - a.row.id;
}

function isBehind({ key, row }: RankedRow, place: { key: number; id: number }): boolean {
  return key < place.key || (key === place.key && row.id < place.id);
}

/** The rows of each document once, for counting. */
export function countRows<K>(
  rows: readonly CandidateRow[],
  keyOf: (row: CandidateRow) => K,
): ReadonlyMap<K, number> {
  const seen = new Set<string>();
  const counts = new Map<K, number>();
  for (const row of rows) {
    const name = `${row.thread} ${row.ref}`;
    if (seen.has(name)) continue;
    seen.add(name);
    const key = keyOf(row);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}
