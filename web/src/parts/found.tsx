import { createContext, type ComponentChildren, type JSX } from 'preact';
import { useContext, useEffect, useMemo, useRef } from 'preact/hooks';
import { wordFinder, type WordFinder } from '../../../src/browser.ts';

// The words of a search, marked in the turn that it led to. Marks are ranges over the text that is drawn: no element is
// added, so what the sanitiser let through stays as it is. Folds that hold a word are opened.

const Finding = createContext<WordFinder | undefined>(undefined);

/** The name of the marks in the stylesheet. */
const HIGHLIGHT = 'found';
const CHARS_MAX = 262_144;
const MARKS_MAX = 1000;
const DEPTH_MAX = 32;

/** Elements that do not end a word. */
const INLINE: ReadonlySet<string> = new Set('A B CODE DEL EM I SPAN STRONG'.split(' '));
/** What stands there is no text of the turn. */
const LEFT_OUT = 'button, .note, .rest';

/** Finds words inside a turn that was searched for. Undefined in all others. */
export function useFinder(): WordFinder | undefined {
  return useContext(Finding);
}

/** Marks the words of a query in what is drawn inside. Without a query, or with a text that is none, it marks nothing. */
export function Found({
  query,
  children,
}: {
  query: string | undefined;
  children: ComponentChildren;
}): JSX.Element {
  const find = useMemo(() => toFinder(query), [query]);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { current } = place;
    if (find === undefined || current === null) return undefined;
    const opened = new WeakSet<Element>();
    let first: Range | undefined;
    const mark = (): void => {
      const ranges = rangesOf(current, find);
      for (const range of ranges) openFolds(range, current, opened);
      showMarks(ranges);
      [first] = ranges;
    };
    mark();
    const stop = bringIntoSight(() => first);
    // Colours of code come later, and a fold that is opened has more text.
    const changes = new MutationObserver(mark);
    changes.observe(current, { childList: true, characterData: true, subtree: true });
    return () => {
      stop();
      changes.disconnect();
      showMarks([]);
    };
  }, [find]);
  return (
    <Finding.Provider value={find}>
      <div class="found" ref={place}>
        {children}
      </div>
    </Finding.Provider>
  );
}

function toFinder(query: string | undefined): WordFinder | undefined {
  try {
    return query === undefined || query.trim() === '' ? undefined : wordFinder(query);
  } catch {
    return undefined;
  }
}

/** Whether a word stands anywhere in a value, as far down as a reader would look. */
export function isFoundIn(find: WordFinder | undefined, value: unknown): boolean {
  if (find === undefined) return false;
  const texts: string[] = [];
  let left = CHARS_MAX;
  const gather = (part: unknown, depth: number): void => {
    if (left <= 0 || depth > DEPTH_MAX) return;
    if (typeof part === 'object' && part !== null) {
      for (const [name, child] of Object.entries(part)) {
        gather(name, depth + 1);
        gather(child, depth + 1);
      }
      return;
    }
    const text = String(part).slice(0, left);
    left -= text.length + 1;
    texts.push(text);
  };
  gather(value, 0);
  return find(texts.join('\n')).length > 0;
}

interface Piece {
  readonly node: Text;
  readonly from: number;
}

function rangesOf(place: Element, find: WordFinder): Range[] {
  const pieces: Piece[] = [];
  let text = '';
  let block: Element | undefined;
  const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  for (let next = walker.nextNode(); next !== null; next = walker.nextNode()) {
    const node = next as Text;
    const parent = node.parentElement;
    if (parent === null || parent.closest(LEFT_OUT) !== null) continue;
    const around = blockOf(parent);
    if (around !== block || node.previousSibling?.nodeName === 'BR') text += '\n';
    block = around;
    pieces.push({ node, from: text.length });
    text += node.data;
    if (text.length > CHARS_MAX) break;
  }
  let at = 0;
  return find(text)
    .slice(0, MARKS_MAX)
    .map(([from, to]) => {
      while ((pieces[at + 1]?.from ?? Infinity) <= from) at += 1;
      let last = at;
      while ((pieces[last + 1]?.from ?? Infinity) < to) last += 1;
      return toRange(pieces[at] as Piece, pieces[last] as Piece, from, to);
    });
}

function blockOf(element: Element): Element {
  let at = element;
  while (INLINE.has(at.tagName) && at.parentElement !== null) at = at.parentElement;
  return at;
}

function toRange(first: Piece, last: Piece, from: number, to: number): Range {
  const range = document.createRange();
  range.setStart(first.node, Math.min(from - first.from, first.node.length));
  range.setEnd(last.node, Math.min(to - last.from, last.node.length));
  return range;
}

/** Opens each fold once: a reader may close it again. */
function openFolds({ startContainer }: Range, place: Element, opened: WeakSet<Element>): void {
  let fold = startContainer.parentElement?.closest('details') ?? undefined;
  while (fold !== undefined && place.contains(fold)) {
    // The head of a fold is seen while the fold is closed.
    const isHead = startContainer.parentElement?.closest('summary')?.parentElement === fold;
    if (!isHead && !opened.has(fold)) {
      fold.open = true;
      opened.add(fold);
    }
    fold = fold.parentElement?.closest('details') ?? undefined;
  }
}

/** A browser that knows no highlights shows the first place as its selection. */
function showMarks(ranges: readonly Range[]): void {
  if ('highlights' in CSS) {
    if (ranges.length > 0) CSS.highlights.set(HIGHLIGHT, new Highlight(...ranges));
    else CSS.highlights.delete(HIGHLIGHT);
    return;
  }
  const [first] = ranges;
  const selection = getSelection();
  selection?.removeAllRanges();
  if (first !== undefined) selection?.addRange(first);
}

/** Scrolls every box around a range that hides it, from the inner one to the list. */
function scrollTo(range: Range): void {
  let box = range.startContainer.parentElement;
  for (; box !== null; box = box.classList.contains('turns') ? null : box.parentElement) {
    if (box.scrollHeight <= box.clientHeight) continue;
    const { top, bottom } = range.getBoundingClientRect();
    const sight = box.getBoundingClientRect();
    if (top >= sight.top && bottom <= sight.bottom) continue;
    box.scrollTop += top - (sight.top + sight.bottom) / 2;
  }
}

const FRAMES_MAX = 120;
const FRAMES_STILL = 5;

/**
 * Scrolls to the first word, which may be far below the beginning of a long turn. The list scrolls to the turn first, in
 * several steps, so this waits until the word stands still. Returns a function that gives it up.
 */
function bringIntoSight(first: () => Range | undefined): () => void {
  let lastTop = Number.NaN;
  let still = 0;
  let frames = 0;
  const look = (): void => {
    const range = first();
    const top = range?.getBoundingClientRect().top ?? Number.NaN;
    still = top === lastTop ? still + 1 : 0;
    lastTop = top;
    frames += 1;
    if (still < FRAMES_STILL) {
      if (frames < FRAMES_MAX) frame = requestAnimationFrame(look);
      return;
    }
    if (range !== undefined) scrollTo(range);
  };
  let frame = requestAnimationFrame(look);
  return () => cancelAnimationFrame(frame);
}
