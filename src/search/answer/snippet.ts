import type { Snippet } from '../contract/search.ts';
import type { Phrase, Term } from '../query/query.ts';
import { tokenize, type PartSpan } from '../text/tokenize.ts';

const SNIPPET_CHARS = 160;
/** Words further down in a text are found, and not shown. */
const LOOKED_CHARS = 262_144;
const RUN_PARTS_MAX = 16;

interface Place {
  readonly start: number;
  readonly end: number;
  readonly leaf: number;
}

/** The stretch of the texts with the most of the words in it; their beginning when none of them has any. */
export function makeSnippet(
  texts: readonly string[],
  leaves: readonly (Term | Phrase)[],
  chars: number = SNIPPET_CHARS,
): Snippet {
  let best: { text: string; places: readonly Place[]; score: number } | undefined;
  let looked = 0;
  for (const text of texts) {
    if (looked > LOOKED_CHARS) break;
    const part = text.slice(0, LOOKED_CHARS - looked);
    looked += part.length + 1;
    const places = bestWindow(findPlaces(part, leaves), chars);
    const score = scoreOf(places);
    if (best === undefined || score > best.score) best = { text, places, score };
  }
  if (best === undefined) return { text: '', marks: [] };
  return cutAround(best.text, best.places, chars);
}

/** Every place of a leaf in the text. */
export function findPlaces(text: string, leaves: readonly (Term | Phrase)[]): Place[] {
  const spans: PartSpan[] = [];
  tokenize(text, { parts: [], wholes: [] }, spans);
  const places: Place[] = [];
  for (let at = 0; at < spans.length; at += 1) {
    for (const [leaf, wanted] of leaves.entries()) {
      const end =
        wanted.kind === 'term'
          ? endOfTerm(text, spans, at, wanted)
          : endOfPhrase(spans, at, wanted);
      const start = spans[at]?.start ?? 0;
      if (end !== undefined) places.push({ start, end, leaf });
    }
  }
  return places;
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

/** A term is a part, or several parts of one run put together. */
function endOfTerm(
  text: string,
  spans: readonly PartSpan[],
  at: number,
  { token, prefix }: Term,
): number | undefined {
  let joined = '';
  for (let next = at; next < Math.min(spans.length, at + RUN_PARTS_MAX); next += 1) {
    const span = spans[next];
    if (span === undefined || (next > at && !isSameRun(text, spans[next - 1], span)))
      return undefined;
    joined += span.part;
    if (joined === token || (prefix && joined.startsWith(token))) return span.end;
    const ending = token.slice(joined.length);
    if ((ending === '++' || ending === '#') && text.startsWith(ending, span.end)) {
      if (token === joined + ending) return span.end + ending.length;
    }
    if (!token.startsWith(joined)) return undefined;
  }
  return undefined;
}

function isSameRun(text: string, before: PartSpan | undefined, span: PartSpan): boolean {
  if (before === undefined) return false;
  return /^_*$/.test(text.slice(before.end, span.start));
}

/** The places that fit into a window of that many characters, with the most leaves among them. */
function bestWindow(places: readonly Place[], chars: number): readonly Place[] {
  let best: readonly Place[] = [];
  let bestScore = 0;
  let from = 0;
  for (let to = 1; to <= places.length; to += 1) {
    const last = places[to - 1];
    while (from < to - 1 && (last?.end ?? 0) - (places[from]?.start ?? 0) > chars) from += 1;
    const window = places.slice(from, to);
    const score = scoreOf(window);
    if (score > bestScore) [best, bestScore] = [window, score];
    if (to - from > 64) from += 1;
  }
  return best;
}

function scoreOf(places: readonly Place[]): number {
  return new Set(places.map(({ leaf }) => leaf)).size * 1000 + Math.min(places.length, 999);
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

/** One line, whatever the text has in it. */
function flat(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, ' ');
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
