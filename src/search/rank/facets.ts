import type { FacetCount, Facets } from '../contract/search.ts';
import { countRows, type CandidateRow } from './pick-rows.ts';

const VALUES_MAX = 50;

/** `nameOf` gives the text behind a number of the index. */
export function countFacets(
  rows: readonly CandidateRow[],
  nameOf: (name: number) => string,
): Facets {
  const of = (keyOf: (row: CandidateRow) => number): FacetCount[] =>
    toList(
      [...countRows(rows, keyOf)]
        .filter(([name]) => name !== 0)
        .map(([name, count]) => [nameOf(name), count]),
    );
  return {
    kind: of(({ kind }) => kind),
    type: of(({ type }) => type),
    model: of(({ model }) => model),
    day: toList([...countRows(rows, ({ at }) => dayOf(at))]),
  };
}

function toList(counts: readonly (readonly [string, number])[]): FacetCount[] {
  return counts
    .map(([value, count]) => ({ value, count }))
    .toSorted((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
    .slice(0, VALUES_MAX);
}

function dayOf(atMs: number): string {
  const date = new Date(atMs);
  return Number.isNaN(date.getTime()) ? 'unknown' : date.toISOString().slice(0, 10);
}
