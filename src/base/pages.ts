/** Yields page after page of a listing: each is asked for with the cursor of the one before. The last has none. */
export async function* eachPage<P extends { readonly cursor?: string }>(
  read: (after: { readonly cursor?: string }) => Promise<P>,
): AsyncGenerator<P, void, undefined> {
  for (let after: { readonly cursor?: string } = {}; ;) {
    const page = await read(after);
    yield page;
    if (page.cursor === undefined) return;
    after = { cursor: page.cursor };
  }
}

/** Cuts items into groups whose sizes add up to at most `max`, each of at least one item. */
export function* groupsOf<T>(
  items: Iterable<T>,
  max: number,
  sizeOf: (item: T) => number = () => 1,
): Generator<T[]> {
  let group: T[] = [];
  let total = 0;
  for (const item of items) {
    const size = sizeOf(item);
    if (group.length > 0 && total + size > max) {
      yield group;
      group = [];
      total = 0;
    }
    group.push(item);
    total += size;
  }
  if (group.length > 0) yield group;
}
