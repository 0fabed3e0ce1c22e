import type { Phrase, Term } from '../query/query.ts';
import { countIn, hash12, type Sketch } from './sketch.ts';

// BM25 over a bounded number of candidates. How many documents have a word is estimated from the newest stretch of the
// index, so no query counts the whole index.

const K1 = 1.2;
const B = 0.75;

export interface Candidate {
  /** The number of the document in the index: the order in which documents came. */
  readonly id: number;
  /** Parts in the document. */
  readonly words: number;
}

export interface RankBasis {
  /** The share of documents that have each leaf of the query, from 0 to 1. */
  readonly shares: readonly number[];
  readonly averageWords: number;
  readonly documents: number;
}

/**
 * Counts a leaf in the candidate at a place of their list; 0: it is not there. With several leaves under OR, a candidate
 * may have some of them only.
 */
export type CountOf<Row> = (candidate: Row, nth: number, leaf: number) => number;

/** Scores candidates for a query. */
export function makeScore<Row extends Candidate>(
  { shares, averageWords, documents }: RankBasis,
  countOf: CountOf<Row>,
): (candidate: Row, nth: number) => number {
  const weights = shares.map((share) => idf(share, documents) * (K1 + 1));
  return (candidate, nth) => {
    const norm = K1 * (1 - B + (B * candidate.words) / averageWords);
    let score = 0;
    for (let leaf = 0; leaf < weights.length; leaf += 1) {
      const count = countOf(candidate, nth, leaf);
      score += ((weights[leaf] ?? 0) * count) / (count + norm);
    }
    return score;
  };
}

/** The words of a leaf, as sketches know them. A phrase occurs at most as often as the rarest of its words. */
export function leafHashes(leaf: Term | Phrase): readonly number[] {
  return (leaf.kind === 'term' ? [leaf.token] : leaf.parts).map(hash12);
}

export function leastCount(sketch: Sketch, hashes: readonly number[]): number {
  let least = Infinity;
  for (const hash of hashes) least = Math.min(least, countIn(sketch, hash));
  return least;
}

function idf(share: number, documents: number): number {
  const having = share * documents;
  return Math.log(1 + (documents - having + 0.5) / (having + 0.5));
}
