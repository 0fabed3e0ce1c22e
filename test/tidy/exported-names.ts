/** The names that an entry exports, types marked as such, sorted. An index lists them one by one; an adapter declares them. */
export function exportedNames(source: string): string[] {
  if (/^export \*/m.test(source)) throw new Error('an index exports names one by one');
  const names = [...source.matchAll(/^export (type )?\{([^}]*)\}/gm)].flatMap((match) =>
    match[2]!
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
      .map((name) => (match[1] === undefined ? name : `type ${name}`)),
  );
  const declared = source.matchAll(
    /^export (?:async )?(class|function|const|interface|type) (\w+)/gm,
  );
  for (const [, kind, name = ''] of declared) {
    names.push(kind === 'interface' || kind === 'type' ? `type ${name}` : name);
  }
  return names.map((name) => name.replace(/^(type )?.* as /, '$1')).toSorted();
}
