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
