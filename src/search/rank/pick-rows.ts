import type { PickRequest } from '../contract/search-index.ts';
import { makeScore, type Candidate, type CountOf, type RankBasis } from './rank.ts';
import type { Sketch } from './sketch.ts';

/** A candidate with what decides its place and its counts. Names are numbers of the index. */
export interface CandidateRow extends Candidate {
  /** The document: the number of the first of its rows. */
  readonly doc: number;
  readonly sketch: Sketch;
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

export interface PickBasis extends Omit<RankBasis, 'averageWords'> {
  readonly countOf: CountOf<CandidateRow>;
}

type Wish = Pick<PickRequest, 'order' | 'limit' | 'after' | 'group'>;

/**
 * The page of `wish` among the candidates, in order. A document with several rows, because it is long, counts once,
 * with its best row.
 */
export function pickRows(rows: readonly CandidateRow[], wish: Wish, basis: PickBasis): PickedRows {
  const averageWords = rows.reduce((sum, { words }) => sum + words, 0) / Math.max(1, rows.length);
  const score = makeScore({ ...basis, averageWords: Math.max(1, averageWords) }, basis.countOf);
  const isByTime = wish.order === 'newest';
  const rank = (row: CandidateRow, nth: number): RankedRow => {
    const points = score(row, nth);
    return { row, score: points, key: isByTime ? row.at : points };
  };
  const page = new Page(wish);
  // Most documents have one row, and most rows are on no page: they need no object.
  if (!wish.group && rows.every(({ doc, id }) => doc === id)) {
    for (const [nth, row] of rows.entries()) {
      const points = score(row, nth);
      page.offer(row, isByTime ? row.at : points, points);
    }
    return page.toPicked(rows.length);
  }
  const ranked = onePerDocument(rows.map(rank));
  if (wish.group) return pickGroups(ranked, wish);
  for (const { row, key, score: points } of ranked) page.offer(row, key, points);
  return page.toPicked(ranked.length);
}

/** The first rows in order behind a place: of ten thousand, a page is wanted. */
class Page {
  readonly #limit: number;
  readonly #after: Wish['after'];
  readonly #first: RankedRow[] = [];
  #offered = 0;

  constructor({ limit, after }: Wish) {
    this.#limit = limit;
    this.#after = after;
  }

  offer(row: CandidateRow, key: number, score: number): void {
    if (this.#after !== undefined && !isBehind(key, row.id, this.#after)) return;
    this.#offered += 1;
    const first = this.#first;
    const last = first[this.#limit - 1];
    if (last !== undefined && !isBehind(last.key, last.row.id, { key, id: row.id })) return;
    let at = Math.min(first.length, this.#limit - 1);
    for (; at > 0; at -= 1) {
      const before = first[at - 1];
      if (before === undefined || isBehind(key, row.id, { key: before.key, id: before.row.id })) {
        break;
      }
      first[at] = before;
    }
    first[at] = { row, key, score };
  }

  toPicked(matches: number): PickedRows {
    return { picked: this.#first, more: this.#offered > this.#limit, matches };
  }
}

function pickGroups(ranked: readonly RankedRow[], { after, limit }: Wish): PickedRows {
  const byThread = new Map<number, RankedRow[]>();
  for (const one of ranked.toSorted(byPlace)) {
    const known = byThread.get(one.row.thread);
    if (known === undefined) byThread.set(one.row.thread, [one]);
    else known.push(one);
  }
  const groups = [...byThread.values()].filter(
    ([first]) =>
      after === undefined || (first !== undefined && isBehind(first.key, first.row.id, after)),
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

function isBehind(key: number, id: number, place: { key: number; id: number }): boolean {
  return key < place.key || (key === place.key && id < place.id);
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
