import type { Phrase, Term } from '../query/query.ts';
import { countIn, hash12, type Sketch } from './sketch.ts';

// BM25 over a bounded number of candidates. How often a word occurs in a document comes from its sketch. How many
// documents have a word is estimated from the candidates' own stretch of the index, so no query counts the whole index.

const K1 = 1.2;
const B = 0.75;

export interface Candidate {
  /** The number of the document in the index: the order in which documents came. */
  readonly id: number;
  /** Parts in the document. */
  readonly words: number;
  readonly sketch: Sketch;
}

/** A leaf of the query with the share of documents that have it, from 0 to 1. */
export interface Weighted {
  readonly leaf: Term | Phrase;
  readonly share: number;
}

export interface RankBasis {
  readonly leaves: readonly Weighted[];
  readonly averageWords: number;
  readonly documents: number;
}

/** Scores candidates for a query. With several leaves under OR, a candidate may have some of them only. */
export function makeScore(
  { leaves, averageWords, documents }: RankBasis,
  has: (candidate: Candidate, leaf: number) => boolean,
): (candidate: Candidate) => number {
  const weights = leaves.map(({ leaf, share }) => ({
    idf: idf(share, documents),
    hashes: tokensOf(leaf).map(hash12),
  }));
  return (candidate) => {
    const norm = K1 * (1 - B + (B * candidate.words) / averageWords);
    let score = 0;
    for (let at = 0; at < weights.length; at += 1) {
      const weight = weights[at];
      if (weight === undefined || !has(candidate, at)) continue;
      const count = leastCount(candidate.sketch, weight.hashes);
      score += (weight.idf * count * (K1 + 1)) / (count + norm);
    }
    return score;
  };
}

/** A phrase occurs at most as often as the rarest of its words. */
function leastCount(sketch: Sketch, hashes: readonly number[]): number {
  let least = Infinity;
  for (const hash of hashes) least = Math.min(least, countIn(sketch, hash));
  return least;
}

function idf(share: number, documents: number): number {
  const having = share * documents;
  return Math.log(1 + (documents - having + 0.5) / (having + 0.5));
}

function tokensOf(leaf: Term | Phrase): readonly string[] {
  return leaf.kind === 'term' ? [leaf.token] : leaf.parts;
}
