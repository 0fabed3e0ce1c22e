import type { Engine } from '../../engine/engine.ts';
import type {
  PagePlace,
  PickRequest,
  Picked,
  Picks,
  SearchIndex,
} from '../contract/search-index.ts';
import type { Condition, Query } from '../query/query.ts';
import { needsWords, wantedLeaves } from '../query/query.ts';
import type { IndexState, SearchAnswer, SearchGroup, SearchHit } from '../contract/search.ts';
import { findLineage } from './branches.ts';
import type { CheckedOptions } from './check-options.ts';
import { formatCursor, parseCursor, queryMark } from './cursor.ts';
import { toWanted } from './snippet.ts';
import { showHits, type HitParts, type HitWish } from './show-hit.ts';

/** More matches are not ranked: the newest of them are. */
const CANDIDATES_MAX = 10_000;
/** For each match of a phrase, the index looks at many documents that have its words apart. */
const PHRASE_CANDIDATES_MAX = 4000;
/** Hits that nobody is shown any more make a page be filled up this often. */
const ROUNDS_MAX = 8;
const LABELLED_MAX = 100_000;
const CONTEXTS_AT_ONCE = 1000;

export interface Asked {
  readonly text: string;
  readonly query: Query;
  readonly options: CheckedOptions;
}

export async function findAnswer(
  engine: Engine,
  parts: HitParts,
  { text, query, options }: Asked,
): Promise<Omit<SearchAnswer, 'index'> & { readonly documents: number }> {
  const { order, group, cursor, limit } = options;
  // Most answers fit on a page, and have no cursor.
  const mark = (): string => queryMark([text, order, group]);
  const leaves = wantedLeaves(query.condition);
  const request: PickRequest = {
    condition: query.condition,
    leaves,
    isLoose: hasChoice(query.condition),
    order,
    limit,
    group,
    facets: options.facets,
    timeMs: options.timeMs,
    candidates: leaves.some(({ kind }) => kind === 'phrase')
      ? PHRASE_CANDIDATES_MAX
      : CANDIDATES_MAX,
    ...(query.limits.before !== undefined && { before: query.limits.before }),
    ...(query.limits.after !== undefined && { since: query.limits.after }),
    ...(await limitContexts(engine, parts.index, query)),
    ...(cursor !== undefined && { after: parseCursor(mark(), cursor) }),
  };
  const wish = {
    wanted: toWanted(leaves),
    needsWords: needsWords(query.condition),
    around: options.around,
    contexts: query.limits.contexts,
  };
  const { hits, picks, place, more } = await fillPage(parts, request, wish);
  return {
    ...(group ? { hits: [], groups: toGroups(hits, picks) } : { hits: hits.map(({ hit }) => hit) }),
    ...(picks.facets && { facets: picks.facets }),
    ...(more && place !== undefined && { cursor: formatCursor(mark(), place) }),
    matches: picks.matches,
    ranked: picks.ranked,
    documents: picks.documents,
  };
}

function hasChoice(condition: Condition | undefined): boolean {
  if (condition === undefined) return false;
  if (condition.kind === 'or') return true;
  return condition.kind === 'and' && condition.terms.some(hasChoice);
}

type ContextLimits = Pick<PickRequest, 'contexts' | 'notContexts'>;

/** The contexts in which hits can be: those with the labels, and those that a context was forked from. */
async function limitContexts(
  engine: Engine,
  index: SearchIndex,
  { limits }: Query,
): Promise<ContextLimits> {
  const wanted: string[][] = [];
  const unwanted: string[] = [];
  for (const { value, wanted: isWanted } of limits.labels) {
    const labelled = await withLabel(engine, value);
    if (isWanted) wanted.push(labelled);
    else unwanted.push(...labelled);
  }
  for (const { value, wanted: isWanted } of limits.contexts) {
    if (isWanted) wanted.push(await findLineage(index, 'context', value));
  }
  const [first, ...others] = wanted;
  const sets = others.map((list) => new Set(list));
  return {
    ...(first !== undefined && {
      contexts: first.filter((id) => sets.every((set) => set.has(id))),
    }),
    ...(unwanted.length > 0 && { notContexts: unwanted }),
  };
}

async function withLabel(engine: Engine, label: string): Promise<string[]> {
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await engine.listContexts({
      label,
      limit: CONTEXTS_AT_ONCE,
      ...(cursor !== undefined && { cursor }),
    });
    for (const { id } of page.rows) found.push(String(id));
    cursor = page.cursor;
  } while (cursor !== undefined && found.length < LABELLED_MAX);
  return found;
}

interface Shown {
  readonly hit: SearchHit;
  readonly picked: Picked;
}

interface Page {
  readonly hits: readonly Shown[];
  readonly picks: Picks;
  /** Behind the last one that was looked at. */
  readonly place: PagePlace | undefined;
  readonly more: boolean;
}

async function fillPage(parts: HitParts, request: PickRequest, wish: HitWish): Promise<Page> {
  const hits: Shown[] = [];
  let after = request.after;
  let first: Picks | undefined;
  for (let round = 0; ; round += 1) {
    const left = request.group ? request.limit : request.limit - hits.length;
    const picks = await parts.index.pick({
      ...request,
      limit: left,
      ...(after !== undefined && { after }),
    });
    first ??= picks;
    const shown = await showHits(parts, picks.picked, wish);
    for (const [index, picked] of picks.picked.entries()) {
      const hit = shown[index];
      if (hit !== undefined) hits.push({ picked, hit });
    }
    after = placeBehind(picks, request.group) ?? after;
    const isFull = request.group ? hits.length > 0 : hits.length >= request.limit;
    if (isFull || !picks.more || round >= ROUNDS_MAX) {
      return { hits, picks: first, place: after, more: picks.more };
    }
  }
}

/** In groups, the best hit of the last group has its place. */
function placeBehind({ picked, upTo }: Picks, group: boolean): PagePlace | undefined {
  const last = picked.at(-1);
  if (last === undefined) return undefined;
  const isSame = (one: Picked): boolean => one.thread === last.thread && one.source === last.source;
  const { key, id } = group ? (picked.find(isSame) ?? last) : last;
  return { upTo, key, id };
}

function toGroups(hits: readonly Shown[], { groups }: Picks): SearchGroup[] {
  const found = new Map<string, { hits: SearchHit[]; matches: number; first: SearchHit }>();
  for (const { hit, picked } of hits) {
    const name = `${picked.source} ${picked.thread}`;
    const known = found.get(name);
    if (known !== undefined) known.hits.push(hit);
    else found.set(name, { hits: [hit], matches: groups?.get(name) ?? 1, first: hit });
  }
  return [...found.values()].map(({ first, ...group }) => ({
    kind: first.kind,
    thread: first.thread,
    ...group,
  }));
}

export function toIndexState(
  documents: number,
  { upToDate, done, total }: { upToDate: boolean; done: number; total: number },
): IndexState {
  return { upToDate, documents, ...(!upToDate && { done, total }) };
}
