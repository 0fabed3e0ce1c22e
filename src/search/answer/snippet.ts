import type { Snippet } from '../contract/search.ts';
import { parseQuery } from '../query/parse-query.ts';
import { wantedLeaves, type Phrase, type Term } from '../query/query.ts';
import { foldInPlace, isAscii, tokenize, type PartSpan } from '../text/tokenize.ts';

const SNIPPET_CHARS = 160;
/** Words further down in a text are found, and not shown. */
const LOOKED_CHARS = 262_144;
const RUN_PARTS_MAX = 16;
const WINDOW_PLACES_MAX = 64;

/** Begin and end of each place of a word, in order and without overlap. */
export type WordFinder = (text: string) => readonly (readonly [from: number, to: number])[];

/**
 * Finds the words of a query in any text, as a snippet marks them. The first 262,144 characters of a text are looked at.
 * INVALID for a text that is no query.
 */
export function wordFinder(query: string): WordFinder {
  const wanted = toWanted(wantedLeaves(parseQuery(query, Date.now()).condition));
  return (text) =>
    merge(findPlaces(text.slice(0, LOOKED_CHARS), wanted)).map(({ start, end }) => [start, end]);
}

interface Place {
  readonly start: number;
  readonly end: number;
  readonly leaf: number;
}

/** The stretch of the texts with the most of the words in it; their beginning when none of them has any. */
export function makeSnippet(
  texts: readonly string[],
  wanted: Wanted,
  chars: number = SNIPPET_CHARS,
): Snippet {
  let best: { text: string; places: readonly Place[]; score: number } | undefined;
  let looked = 0;
  for (const text of texts) {
    if (looked > LOOKED_CHARS) break;
    const part = text.slice(0, LOOKED_CHARS - looked);
    looked += part.length + 1;
    const places = bestWindow(findPlaces(part, wanted), chars);
    const score = scoreOf(new Set(places.map(({ leaf }) => leaf)).size, places.length);
    if (best === undefined || score > best.score) best = { text, places, score };
  }
  if (best === undefined) return { text: '', marks: [] };
  return cutAround(best.text, best.places, chars);
}

/** Leaves by what a place of them begins with, so that a query of many words costs little more than one of few. */
export interface Wanted {
  readonly terms: ReadonlyMap<string, readonly number[]>;
  readonly prefixes: readonly (readonly [token: string, leaf: number])[];
  /** The first characters of every term. Parts that are none of them begin no term. */
  readonly beginnings: ReadonlySet<string>;
  readonly phrases: ReadonlyMap<string, readonly (readonly [phrase: Phrase, leaf: number])[]>;
  /** For a text that is folded in its place: one of these fits where a leaf is. Undefined: look at all of the text. */
  readonly hints: readonly RegExp[] | undefined;
  /** True when the hints are of use for ASCII texts alone: some leaf has other letters. */
  readonly isForAscii: boolean;
}

export function toWanted(leaves: readonly (Term | Phrase)[]): Wanted {
  const terms = new Map<string, number[]>();
  const prefixes: [string, number][] = [];
  const beginnings = new Set<string>();
  const phrases = new Map<string, [Phrase, number][]>();
  for (const [leaf, wanted] of leaves.entries()) {
    if (wanted.kind === 'phrase') {
      const first = wanted.parts[0] ?? '';
      phrases.set(first, [...(phrases.get(first) ?? []), [wanted, leaf]]);
      continue;
    }
    const { token, prefix } = wanted;
    if (prefix) prefixes.push([token, leaf]);
    if (!prefix || ENDED.test(token)) terms.set(token, [...(terms.get(token) ?? []), leaf]);
    for (let end = 1; end < token.length; end += 1) beginnings.add(token.slice(0, end));
  }
  const hints =
    leaves.length > HINTS_MAX ? undefined : leaves.flatMap((leaf) => hintOf(leaf) ?? []);
  const isForAscii = hints !== undefined && hints.length < leaves.length;
  return { terms, prefixes, beginnings, phrases, hints, isForAscii };
}

/** For more leaves, one look at every word is quicker. */
const HINTS_MAX = 8;

/** Undefined when no ASCII text has the leaf. The characters between are none of the leaf, so there is no going back. */
function hintOf(leaf: Term | Phrase): RegExp | undefined {
  const parts = leaf.kind === 'phrase' ? leaf.parts : leaf.token.replace(ENDED, '').split('');
  const isPlain = parts.length > 0 && parts.every((part) => /^[a-z0-9]+$/.test(part));
  // A term may be the whole of an identifier, whose parts are one after the other.
  const between = leaf.kind === 'phrase' ? '[^a-z0-9]*' : '_*';
  return isPlain ? new RegExp(parts.join(between), 'g') : undefined;
}

/** Every place of a leaf in the text. */
export function findPlaces(text: string, wanted: Wanted): Place[] {
  const { terms, prefixes, phrases, hints, isForAscii } = wanted;
  if (terms.size + prefixes.length + phrases.size === 0) return [];
  const places: Place[] = [];
  const isOfUse = hints !== undefined && (!isForAscii || isAscii(text));
  const folded = isOfUse ? foldInPlace(text) : undefined;
  const stretches =
    hints === undefined || folded === undefined
      ? [[0, text.length] as const]
      : findStretches(folded, hints);
  for (const [from, to] of stretches) addPlaces({ text, from, to }, wanted, places);
  return places;
}

/** The runs of characters in which leaves may be: a tenth of the time of looking at every word. */
function findStretches(folded: string, hints: readonly RegExp[]): (readonly [number, number])[] {
  const found: [number, number][] = [];
  for (const hint of hints) {
    let last: [number, number] = [0, 0];
    hint.lastIndex = 0;
    for (let match = hint.exec(folded); match !== null; match = hint.exec(folded)) {
      let [from, to] = [match.index, hint.lastIndex];
      // Phrases may overlap.
      hint.lastIndex = from + 1;
      if (to <= last[1]) continue;
      while (to < folded.length && isInRun(folded.charCodeAt(to))) to += 1;
      if (from < last[1]) {
        last[1] = to;
        continue;
      }
      while (from > last[1] && isInRun(folded.charCodeAt(from - 1))) from -= 1;
      last = [from, to];
      found.push(last);
    }
  }
  if (hints.length < 2) return found;
  const merged: [number, number][] = [];
  for (const [from, to] of found.toSorted((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last !== undefined && from < last[1]) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

/** `_`, digits and small letters of ASCII, and DEL, which stands for other letters. */
function isInRun(code: number): boolean {
  const isDigit = code >= 0x30 && code <= 0x39;
  return isDigit || code === 0x5f || (code >= 0x61 && code <= 0x7a) || code === 0x7f;
}

interface Stretch {
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

function addPlaces({ text, from, to }: Stretch, wanted: Wanted, places: Place[]): void {
  const spans: PartSpan[] = [];
  tokenize(text.slice(from, to), { parts: [], wholes: [] }, spans);
  if (from > 0) for (const [at, span] of spans.entries()) spans[at] = shift(span, from);
  for (const [at, { start, part }] of spans.entries()) {
    for (const { end, leaf } of termsAt(text, spans, at, wanted)) places.push({ start, end, leaf });
    for (const [phrase, leaf] of wanted.phrases.get(part) ?? []) {
      const end = endOfPhrase(spans, at, phrase);
      if (end !== undefined) places.push({ start, end, leaf });
    }
  }
}

function shift({ part, start, end }: PartSpan, by: number): PartSpan {
  return { part, start: start + by, end: end + by };
}

function endOfPhrase(
  spans: readonly PartSpan[],
  at: number,
  { parts, prefix }: Phrase,
): number | undefined {
  for (const [index, wanted] of parts.entries()) {
    const part = spans[at + index]?.part;
    if (part === undefined) return undefined;
    const isLast = index === parts.length - 1;
    if (isLast && prefix ? !part.startsWith(wanted) : part !== wanted) return undefined;
  }
  return spans[at + parts.length - 1]?.end;
}

/** The terms that begin with this part. A term is a part, or several parts of one run put together. */
function termsAt(
  text: string,
  spans: readonly PartSpan[],
  at: number,
  { terms, prefixes, beginnings }: Wanted,
): { end: number; leaf: number }[] {
  const found: { end: number; leaf: number }[] = [];
  let joined = '';
  for (let next = at; next < Math.min(spans.length, at + RUN_PARTS_MAX); next += 1) {
    const span = spans[next];
    if (span === undefined || (next > at && !isSameRun(text, spans[next - 1], span))) break;
    const { length } = joined;
    joined += span.part;
    for (const leaf of terms.get(joined) ?? []) found.push({ end: span.end, leaf });
    for (const [token, leaf] of prefixes) {
      if (token.length > length && joined.startsWith(token)) found.push({ end: span.end, leaf });
    }
    if (!beginnings.has(joined)) break;
    for (const ending of ENDINGS) {
      if (!text.startsWith(ending, span.end)) continue;
      const end = span.end + ending.length;
      for (const leaf of terms.get(joined + ending) ?? []) found.push({ end, leaf });
    }
  }
  return found;
}

/** Of the names of languages. */
const ENDINGS = ['++', '#'];
const ENDED = /(?:\+\+|#)$/;

function isSameRun(text: string, before: PartSpan | undefined, span: PartSpan): boolean {
  if (before === undefined) return false;
  return /^_*$/.test(text.slice(before.end, span.start));
}

/** The places that fit into a window of that many characters, with the most leaves among them. */
function bestWindow(places: readonly Place[], chars: number): readonly Place[] {
  let best: readonly [from: number, to: number] = [0, 0];
  let bestScore = 0;
  let from = 0;
  /** The count of each leaf in the window. */
  const counts = new Map<number, number>();
  const drop = (): void => {
    const { leaf = 0 } = places[from] ?? {};
    const left = (counts.get(leaf) ?? 0) - 1;
    if (left > 0) counts.set(leaf, left);
    else counts.delete(leaf);
    from += 1;
  };
  for (const [index, { leaf, end }] of places.entries()) {
    counts.set(leaf, (counts.get(leaf) ?? 0) + 1);
    while (from < index && end - (places[from]?.start ?? 0) > chars) drop();
    const to = index + 1;
    const score = scoreOf(counts.size, to - from);
    if (score > bestScore) [best, bestScore] = [[from, to], score];
    if (to - from > WINDOW_PLACES_MAX) drop();
  }
  return places.slice(...best);
}

function scoreOf(leaves: number, places: number): number {
  return leaves * 1000 + Math.min(places, 999);
}

function cutAround(text: string, places: readonly Place[], chars: number): Snippet {
  const first = places[0]?.start ?? 0;
  const last = Math.max(first, ...places.map(({ end }) => end));
  const lead = Math.max(0, Math.floor((chars - (last - first)) / 3));
  const from = wordStart(text, Math.max(0, first - lead));
  const to = wordEnd(text, Math.min(text.length, Math.max(last, from + chars)));
  let shown = from > 0 ? '…' : '';
  const marks: [number, number][] = [];
  let at = from;
  for (const { start, end } of merge(places)) {
    shown += flat(text.slice(at, start));
    const begin = shown.length;
    shown += flat(text.slice(start, end));
    marks.push([begin, shown.length]);
    at = end;
  }
  shown += flat(text.slice(at, to));
  return { text: to < text.length ? `${shown}…` : shown, marks };
}

function merge(places: readonly Place[]): readonly { start: number; end: number }[] {
  const merged: { start: number; end: number }[] = [];
  for (const { start, end } of places.toSorted((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last !== undefined && start < last.end) last.end = Math.max(last.end, end);
    else merged.push({ start, end });
  }
  return merged;
}

/** One line, whatever the text has in it. A space alone stays as it is: most are. */
function flat(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]{2,}|[^\S ]|\p{Cc}/gu, ' ');
}

const STEP_CHARS = 20;

function wordStart(text: string, at: number): number {
  for (let from = at; from > Math.max(0, at - STEP_CHARS); from -= 1) {
    if (/\s/.test(text[from - 1] ?? ' ')) return from;
  }
  return wholeAt(text, at);
}

function wordEnd(text: string, at: number): number {
  for (let to = at; to < Math.min(text.length, at + STEP_CHARS); to += 1) {
    if (/\s/.test(text[to] ?? ' ')) return to;
  }
  return wholeAt(text, at);
}

/** Not between the halves of a surrogate pair. */
function wholeAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff ? at + 1 : at;
}
