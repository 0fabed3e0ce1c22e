import { posix } from 'node:path';
import { resolveImport, specifiersOf } from './imports.ts';

/**
 * The layers in which folders import each other in a circle, each with those folders. Types count, and so does a
 * folder that imports its own parent. `read` gives the source of a file.
 */
export function folderCycles(
  files: readonly string[],
  read: (file: string) => string,
): Map<string, string[]> {
  const edges = new Map<string, Set<string>>();
  for (const file of files) {
    const from = posix.dirname(file);
    for (const specifier of specifiersOf(read(file))) {
      const target = resolveImport(file, specifier);
      const to = target === undefined ? from : posix.dirname(target);
      if (to === from || layerOf(to) !== layerOf(from)) continue;
      edges.set(from, (edges.get(from) ?? new Set()).add(to));
    }
  }
  const cycles = new Map<string, string[]>();
  for (const folder of [...edges.keys()].toSorted()) {
    if (!reaches(edges, folder, folder)) continue;
    const layer = layerOf(folder);
    cycles.set(layer, [...(cycles.get(layer) ?? []), folder]);
  }
  return cycles;
}

function reaches(
  edges: ReadonlyMap<string, ReadonlySet<string>>,
  from: string,
  to: string,
): boolean {
  const seen = new Set<string>();
  const pending = [from];
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    for (const next of edges.get(folder) ?? []) {
      if (next === to) return true;
      if (!seen.has(next)) pending.push(next);
      seen.add(next);
    }
  }
  return false;
}

/** `src/engine/files/turns` is in the layer `engine/files`: each engine is a layer of its own. */
function layerOf(folder: string): string {
  const [, top = '', second] = folder.split('/');
  return top === 'engine' && second !== undefined ? `${top}/${second}` : top;
}
