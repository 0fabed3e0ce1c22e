import { answersSuite } from './answers.ts';
import { hiddenSuite } from './hidden.ts';
import { kindsSuite } from './kinds.ts';
import { queriesSuite } from './queries.ts';
import { randomSuite } from './random.ts';
import type { SearchTarget } from './search-target.ts';

/** What search must find on any store, and what it must not. */
export function searchSuite(target: SearchTarget): void {
  kindsSuite(target);
  queriesSuite(target);
  answersSuite(target);
  hiddenSuite(target);
  randomSuite(target);
}
