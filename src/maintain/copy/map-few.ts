/** Over a network each is a question of its own: so many are asked at a time. */
const FEW = 32;

/** `work` for each, a few at a time, with the results in the order of the items. */
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
