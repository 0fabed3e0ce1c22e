export function pickNames(names: Iterable<string>, prefix: string, after: string): string[] {
  return [...names].filter((name) => name.startsWith(prefix) && name > after).toSorted();
}
