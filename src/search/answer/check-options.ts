import { checkBoolean, checkNames, checkWhole } from '../../base/check-value.ts';
import { invalid } from '../../base/errors.ts';
import { checkString } from '../../base/text.ts';
import type { SearchOptions } from '../contract/search.ts';

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 100;
const AROUND_MAX = 10;
const WAIT_MS_DEFAULT = 2000;
const WAIT_MS_MAX = 600_000;
const TIME_MS_DEFAULT = 1000;
const TIME_MS_MAX = 10_000;

export interface CheckedOptions {
  readonly order: 'best' | 'newest';
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly group: boolean;
  readonly facets: boolean;
  readonly around: number;
  readonly waitMs: number;
  readonly timeMs: number;
}

const OPTIONS: Record<keyof SearchOptions, true> = {
  order: true,
  limit: true,
  cursor: true,
  group: true,
  facets: true,
  around: true,
  waitMs: true,
  timeMs: true,
  progress: true,
};

export function checkOptions(options: SearchOptions): CheckedOptions {
  checkNames(options, OPTIONS, 'search');
  const { order = 'best', cursor, group = false, facets = false, around = 0 } = options;
  const { limit = LIMIT_DEFAULT, waitMs = WAIT_MS_DEFAULT, timeMs = TIME_MS_DEFAULT } = options;
  if (order !== 'best' && order !== 'newest') throw invalid('order', 'must be "best" or "newest"');
  if (cursor !== undefined) checkString(cursor, 'cursor');
  checkBoolean(group, 'group');
  checkBoolean(facets, 'facets');
  return {
    order,
    cursor,
    group,
    facets,
    limit: checkWhole(limit, 'limit', 1, LIMIT_MAX),
    around: checkWhole(around, 'around', 0, AROUND_MAX),
    waitMs: checkWhole(waitMs, 'waitMs', 0, WAIT_MS_MAX),
    timeMs: checkWhole(timeMs, 'timeMs', 1, TIME_MS_MAX),
  };
}
