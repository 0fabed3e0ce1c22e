/** The names that an index exports, types marked as such, sorted. An index lists them one by one. */
export function exportedNames(source: string): string[] {
  if (/^export \*/m.test(source)) throw new Error('an index exports names one by one');
  const names = [...source.matchAll(/^export (type )?\{([^}]*)\}/gm)].flatMap((match) =>
    match[2]!
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
      .map((name) => (match[1] === undefined ? name : `type ${name}`)),
  );
  return names.map((name) => name.replace(/^(type )?.* as /, '$1')).toSorted();
}
