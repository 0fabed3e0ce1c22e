import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { VirtualList, type VListHandle } from './virtual-list.tsx';

// The list of everything that was said in a thread, of any kind. It draws what can be seen, asks for pages at both ends
// before a reader gets there, and stays at the end while the end is in sight.

interface Given {
  /** Another place is another thread, or another turn of it: the list scrolls there. */
  readonly place: string;
  /** What the list was made from: another array is another content. */
  readonly items: readonly unknown[];
  /** The item to show, by its number among the children. Undefined: the end. */
  readonly at: number | undefined;
  /** What grows below the items. */
  readonly tail?: unknown;
  /** Names the newest item: at another end, the list did not move by a reader's hand. */
  readonly end: string | undefined;
  readonly hasNewer: boolean;
  /** Items were added at the top: what is shown stays in its place. */
  readonly shift: boolean;
  readonly older: () => void;
  readonly newer: () => void;
  readonly handle: RefObject<VListHandle | null>;
  readonly children: ComponentChildren;
}

/** How near to its ends the list asks for more. */
const NEAR_PX = 800;
const AT_END_PX = 60;
/** The list takes the last item for any number behind it. */
const LAST: number = Number.MAX_SAFE_INTEGER;

export function LongList(given: Given): JSX.Element {
  const { place, items, at, tail, end, hasNewer, shift, older, newer, handle, children } = given;
  const isAtEnd = useRef(at === undefined);
  const placed = useRef<{ place: string; items: readonly unknown[] }>({ place: '', items: [] });
  const scrolled = useRef<{ offset: number; end: string | undefined }>({ offset: 0, end: '' });
  useEffect(() => {
    if (items.length === 0) return;
    const isNew = placed.current.place !== place;
    // The reader chose an item of what is shown: it stays where it is.
    const isChoice = isNew && placed.current.items === items;
    placed.current = { place, items };
    if (isNew && !isChoice) isAtEnd.current = at === undefined;
    if (isNew && at !== undefined) {
      handle.current?.scrollToIndex(at, { align: isChoice ? 'nearest' : 'center' });
    } else if (isAtEnd.current) handle.current?.scrollToIndex(LAST, { align: 'end' });
  }, [place, items, tail]);
  const onScroll = (offset: number): void => {
    const list = handle.current;
    if (list === null) return;
    const isNear = offset + list.viewportSize > list.scrollSize - AT_END_PX && !hasNewer;
    // New turns move the end away before the list is scrolled to it. Only a reader leaves the end by going up.
    const isReader = end === scrolled.current.end && offset < scrolled.current.offset;
    if (isNear) isAtEnd.current = true;
    else if (isReader || hasNewer) isAtEnd.current = false;
    scrolled.current = { offset, end };
    readOn(list);
  };
  const readOn = (list: VListHandle): void => {
    const { scrollOffset: offset, viewportSize, scrollSize } = list;
    if (offset < NEAR_PX) older();
    if (offset + viewportSize > scrollSize - NEAR_PX) newer();
  };
  useEffect(() => {
    // Short items may leave an end in sight, and then nobody scrolls.
    const frame = requestAnimationFrame(() => handle.current !== null && readOn(handle.current));
    return () => cancelAnimationFrame(frame);
  }, [items]);
  return (
    <VirtualList handle={handle} class="turns" shift={shift} onScroll={onScroll} tabIndex={0}>
      {children}
    </VirtualList>
  );
}
