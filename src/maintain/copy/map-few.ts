/** Over a network each item is a request of its own: this many are sent at a time. */
const FEW = 32;

/** Runs `work` for each item, a few at a time, with the results in the order of the items. */
export async function mapFew<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += FEW) {
    results.push(...(await Promise.all(items.slice(at, at + FEW).map(work))));
  }
  return results;
}
