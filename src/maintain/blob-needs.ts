import type { Hash } from '../base/brand.ts';
import type { Engine } from '../engine/engine.ts';
import type { RootSource } from '../engine/roots.ts';
import type { BlobNeed } from '../engine/upkeep.ts';
import { LiveSet } from './live-set.ts';
import { readRefs } from './node-refs.ts';

/** Holds only blobs that something needs. */
export type BlobNeeds = ReadonlyMap<Hash, readonly BlobNeed[]>;

/**
 * Finds the needs for these blobs, except those in `letGo`. Looks at every root, and reads every node that a root leads
 * to once. A root that cannot be read throws, because it is unknown what the root leads to.
 */
export async function findNeeds(
  engine: Engine,
  sources: readonly RootSource[],
  hashes: readonly Hash[],
  letGo: readonly BlobNeed[] = [],
): Promise<BlobNeeds> {
  const found = new Map<Hash, Map<string, BlobNeed>>();
  const wanted = new Set(hashes);
  const seen = new LiveSet();
  const note = (hash: Hash, kind: string, id: string): void => {
    if (!wanted.has(hash)) return;
    if (letGo.some((need) => need.kind === kind && need.id === id)) return;
    const needs = found.get(hash) ?? new Map<string, BlobNeed>();
    found.set(hash, needs.set(`${kind} ${id}`, { kind, id }));
  };
  for (const source of sources) {
    const { kind } = source;
    for await (const root of source.roots()) {
      if ('blob' in root) note(root.blob, kind, root.of ?? root.blob);
      if (!('node' in root)) continue;
      const id = root.of ?? root.node;
      note(root.node, kind, id);
      const pending = seen.add(root.node) ? [root.node] : [];
      for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
        for await (const ref of readRefs(engine, node)) {
          note(ref, kind, id);
          if (seen.add(ref)) pending.push(ref);
        }
      }
    }
  }
  return new Map([...found].map(([hash, needs]) => [hash, [...needs.values()]]));
}
