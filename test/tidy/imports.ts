import { posix } from 'node:path';

// `import …`, `export … from …`, `import(…)` with a literal. Sources are formatted, so a
// statement starts its line.
const FROM =
  /^(?:import|export)\s(?:[^'"]*?\sfrom\s)?\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm;

/** Every module that a source names, as written. */
export function specifiersOf(source: string): string[] {
  return [...source.matchAll(FROM)].map((match) => match[1] ?? match[2] ?? '');
}

/** The project path that a relative specifier in `file` means; undefined for a package. */
export function resolveImport(file: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  return posix.join(posix.dirname(file), specifier);
}

/** `@scope/name/sub` is the package `@scope/name`; undefined for files and Node's own modules. */
export function packageOf(specifier: string): string | undefined {
  if (specifier.startsWith('.') || specifier.startsWith('node:')) return undefined;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** The files that no entry leads to. `read` gives the source of a file. */
export function unreachable(
  files: readonly string[],
  entries: readonly string[],
  read: (file: string) => string,
): string[] {
  const known = new Set(files);
  const reached = new Set<string>();
  const pending = entries.filter((entry) => known.has(entry));
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    for (const specifier of specifiersOf(read(file))) {
      const target = resolveImport(file, specifier);
      if (target !== undefined && known.has(target)) pending.push(target);
    }
  }
  return files.filter((file) => !reached.has(file));
}
