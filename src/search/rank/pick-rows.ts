import type { PickRequest } from '../contract/search-index.ts';
import { makeScore, type Candidate, type RankBasis } from './rank.ts';

/** A candidate with what decides its place and its counts. Names are numbers of the index. */
export interface CandidateRow extends Candidate {
  /** The document: the number of the first of its rows. */
  readonly doc: number;
  readonly thread: number;
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
  return { picked: firstOf(rest, limit), more: rest.length > limit, matches: ranked.length };
}

/** The first `limit` in order: of ten thousand, a page is wanted. */
function firstOf(ranked: readonly RankedRow[], limit: number): readonly RankedRow[] {
  const first: RankedRow[] = [];
  for (const one of ranked) {
    const last = first[limit - 1];
    if (last !== undefined && byPlace(one, last) > 0) continue;
    let at = Math.min(first.length, limit - 1);
    for (; at > 0; at -= 1) {
      const before = first[at - 1];
      if (before === undefined || byPlace(before, one) < 0) break;
      first[at] = before;
    }
    first[at] = one;
  }
  return first;
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
  // Most documents have one row.
  if (ranked.every(({ row }) => row.doc === row.id)) return ranked;
  const best = new Map<number, RankedRow>();
  for (const one of ranked) {
    const known = best.get(one.row.doc);
    if (known === undefined || byPlace(one, known) < 0) best.set(one.row.doc, one);
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
  const seen = new Set<number>();
  const counts = new Map<K, number>();
  for (const row of rows) {
    if (seen.has(row.doc)) continue;
    seen.add(row.doc);
    const key = keyOf(row);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}
