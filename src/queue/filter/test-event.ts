import { compileFilter, compileOperand, sqliteDialect } from './compile-filter.ts';
import type { Filter, Value } from './filter.ts';
import { matchText, readGlob, readLike } from './pattern.ts';

// Tests one large event with a filter, one test of the filter after the other, with a pause wherever others may wait.
// SQLite would do all of it in one go: 8 MiB take a second for a pattern of 200 characters.

/** Returns the value of an expression of SQL for the event. */
export type AskEvent = (sql: string, params: readonly Value[]) => unknown;

type Breathe = () => Promise<void>;

/** NULL is neither true nor false, as in SQL. */
type Truth = boolean | null;

/** Whether the event matches the filter. */
export async function testEvent(filter: Filter, ask: AskEvent, breathe: Breathe): Promise<Truth> {
  await breathe();
  switch (filter.kind) {
    case 'and':
      return testAll(filter.terms, false, (term) => testEvent(term, ask, breathe));
    case 'or':
      return testAll(filter.terms, true, (term) => testEvent(term, ask, breathe));
    case 'not':
      return negate(await testEvent(filter.term, ask, breathe));
    case 'like':
    case 'glob':
      return testPattern(filter, ask, breathe);
    case 'between':
    case 'compare':
    case 'in':
    case 'null':
    case 'same': {
      const { sql, params } = compileFilter(filter, sqliteDialect);
      const found = ask(sql, params);
      return found === null ? null : Number(found) !== 0;
    }
  }
}

/** One term that is `decisive` decides. */
async function testAll(
  terms: readonly Filter[],
  decisive: boolean,
  test: (term: Filter) => Promise<Truth>,
): Promise<Truth> {
  let result: Truth = !decisive;
  for (const term of terms) {
    const found = await test(term);
    if (found === decisive) return decisive;
    if (found === null) result = null;
  }
  return result;
}

async function testPattern(
  filter: Filter & { readonly kind: 'like' | 'glob' },
  ask: AskEvent,
  breathe: Breathe,
): Promise<Truth> {
  const { sql, params } = compileOperand(filter.left, sqliteDialect);
  const text = ask(`CAST(${sql} AS TEXT)`, params);
  if (typeof text !== 'string') return null;
  const pieces =
    filter.kind === 'glob' ? readGlob(filter.pattern) : readLike(filter.pattern, filter.escape);
  const steps = matchText(text, pieces ?? [], filter.kind === 'glob');
  let step = steps.next();
  while (step.done !== true) {
    await breathe();
    step = steps.next();
  }
  const isMatch = pieces !== undefined && step.value;
  return isMatch !== filter.negated;
}

function negate(truth: Truth): Truth {
  return truth === null ? null : !truth;
}
