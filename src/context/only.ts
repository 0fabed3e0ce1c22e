/** Returns the only item of a list, from a commit of one item. */
export function only<T>(items: readonly T[]): T {
  const [item] = items;
  if (item === undefined || items.length !== 1) {
    throw new TypeError(`expected one item, got ${items.length}`);
  }
  return item;
}
