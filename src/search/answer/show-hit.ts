import { setImmediate } from 'node:timers/promises';
import type { TextDocument, TextSource } from '../../engine/texts.ts';
import type { ReadText } from '../index/read-texts.ts';
import type { Picked, SearchIndex } from '../contract/search-index.ts';
import type { SearchKind } from '../query/query.ts';
import type { Neighbour, SearchHit } from '../contract/search.ts';
import { makeSnippet, toWanted, type Wanted } from './snippet.ts';
import { findBranches } from './branches.ts';

export interface HitParts {
  readonly index: SearchIndex;
  readonly sources: ReadonlyMap<string, TextSource>;
  readonly readText: ReadText;
}

export interface HitWish {
  readonly wanted: Wanted;
  /** True when a match has at least one of the wanted words. */
  readonly needsWords: boolean;
  readonly around: number;
  /** Contexts that must show the hit, and those that must not. */
  readonly contexts: readonly { readonly value: string; readonly wanted: boolean }[];
}

/** The time for which texts are looked at before the process sees to others. */
const STRETCH_MS = 10;
const NEIGHBOUR_CHARS = 400;
const NOTHING: Wanted = toWanted([]);
/** Where a text is longer, its words may stand behind what a snippet looks at. */
const SURE_CHARS = 200_000;

/** Hits as they are now. Undefined for one that nobody is shown any more, or that has none of the words. */
export async function showHits(
  parts: HitParts,
  picks: readonly Picked[],
  wish: HitWish,
): Promise<(SearchHit | undefined)[]> {
  const documents = await loadAll(parts, picks);
  const shown: Promise<SearchHit | undefined>[] = [];
  let sinceMs = performance.now();
  for (const picked of picks) {
    shown.push(showHit(parts, { picked, document: documents.get(picked) }, wish));
    // Looking for words in long texts takes time, and others wait.
    if (performance.now() - sinceMs < STRETCH_MS) continue;
    await setImmediate();
    sinceMs = performance.now();
  }
  return Promise.all(shown);
}

/** One call for all hits of a source. */
async function loadAll(
  { sources }: HitParts,
  picks: readonly Picked[],
): Promise<ReadonlyMap<Picked, TextDocument | undefined>> {
  const names = [...new Set(picks.map(({ source }) => source))];
  const loaded = await Promise.all(
    names.map(async (name) => {
      const some = picks.filter(({ source }) => source === name);
      const documents = (await sources.get(name)?.load(some)) ?? [];
      return some.map((picked, at) => [picked, documents[at]] as const);
    }),
  );
  return new Map(loaded.flat());
}

async function showHit(
  parts: HitParts,
  { picked, document }: { readonly picked: Picked; readonly document: TextDocument | undefined },
  wish: HitWish,
): Promise<SearchHit | undefined> {
  const source = parts.sources.get(picked.source);
  if (source === undefined || document === undefined) return undefined;
  const said = parts.readText(document);
  const snippet = makeSnippet(said.texts, wish.wanted);
  const chars = said.texts.reduce((sum, text) => sum + text.length, 0);
  const isChanged = wish.needsWords && snippet.marks.length === 0 && chars < SURE_CHARS;
  if (chars === 0 || isChanged) return undefined;
  const placed = { ...document, depth: picked.depth };
  for (const { value, wanted } of wish.contexts) {
    const isShown = source.kind === 'context' && (await source.shows(value, placed));
    if (isShown !== wanted) return undefined;
  }
  const isForked = picked.isForked !== false;
  const found = await findBranches(parts.index, source, { document: placed, isForked });
  const { branches, more } = found;
  const [branch] = branches;
  if (branch === undefined) return undefined;
  const role = document.role ?? said.role;
  const model = document.model ?? said.model;
  return {
    kind: (document.kind ?? source.kind) as SearchKind,
    thread: document.thread,
    id: document.id ?? document.ref,
    depth: picked.depth,
    at: document.at,
    type: document.type,
    ...(role !== undefined && { role }),
    ...(model !== undefined && { model }),
    ...(said.tools !== undefined && { tools: said.tools }),
    score: picked.score,
    snippet,
    branches,
    ...(more && { moreBranches: true }),
    ...(wish.around > 0 && {
      around: await showAround(parts, source, { branch, document, count: wish.around }),
    }),
  };
}

async function showAround(
  { readText }: HitParts,
  source: TextSource,
  { branch, document, count }: { branch: string; document: TextDocument; count: number },
): Promise<Neighbour[]> {
  const neighbours = await source.around(branch, document.ref, count);
  return neighbours.map((neighbour) => {
    const said = readText(neighbour);
    const role = neighbour.role ?? said.role;
    return {
      id: neighbour.id ?? neighbour.ref,
      at: neighbour.at,
      type: neighbour.type,
      ...(role !== undefined && { role }),
      text: makeSnippet(said.texts, NOTHING, NEIGHBOUR_CHARS).text,
    };
  });
}
