/** Returns the number of the first `items` that go into one page: always one, then as many as the bytes allow. */
function countFitting(items: readonly { readonly size: number }[], maxBytes: number): number {
  let bytes = 0;
  for (const [index, item] of items.entries()) {
    bytes += item.size;
    if (bytes > maxBytes && index > 0) return index;
  }
  return items.length;
}

/** Returns the oldest of `items` (older first) that fit. */
export function keepOldest<T extends { readonly size: number }>(
  items: readonly T[],
  maxBytes: number,
): T[] {
  return items.slice(0, countFitting(items, maxBytes));
}

/** Returns the newest of `items` (older first) that fit. */
export function keepNewest<T extends { readonly size: number }>(
  items: readonly T[],
  maxBytes: number,
): T[] {
  return items.slice(items.length - countFitting(items.toReversed(), maxBytes));
}
