/** The one item of a list that a commit of one item gave back. */
export function only<T>(items: readonly T[]): T {
  const [item] = items;
  if (item === undefined || items.length !== 1) {
    throw new TypeError(`expected one item, got ${items.length}`);
  }
  return item;
}
