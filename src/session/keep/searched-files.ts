import { isQuipuError } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { IoStat } from '../../engine/io.ts';
import { seenDoc } from './doc-names.ts';
import { SessionRefs } from './session-refs.ts';

// The files of a session that were searched for references, and their state at that time. This list is in the store,
// with the references themselves, so that both are of one time: a store that is restored knows neither.

/** Times of files may be as coarse as this: a file that changed just now may change again and look the same. */
const SETTLED_MS = 2000;

/** By path. */
export type Searched = ReadonlyMap<string, IoStat>;

export async function readSearched(engine: Engine, id: string): Promise<Searched> {
  const row = await engine.getDoc(seenDoc(id));
  if (row === undefined) return new Map();
  const files = JSON.parse(row.content) as Record<string, { size: number; changedMs: number }>;
  return new Map(Object.entries(files).map(([path, stat]) => [path, { kind: 'file', ...stat }]));
}

/** Never true without a time to compare. */
export function isSameFile(one: IoStat | undefined, other: IoStat | undefined): boolean {
  if (one === undefined || other?.changedMs === undefined) return false;
  return one.size === other.size && one.changedMs === other.changedMs;
}

/** Notes the references found, then the files. If this fails, as with a full disk, the cost is another search. */
export async function rememberSearched(
  engine: Engine,
  found: {
    readonly id: string;
    readonly known: Searched;
    readonly searched: Searched;
    readonly references: ReadonlySet<string>;
  },
): Promise<void> {
  const { id, known, searched, references } = found;
  const settled = [...searched].filter(([path, stat]) => {
    const { changedMs = Infinity } = stat;
    return isSameFile(known.get(path), stat) || Date.now() - changedMs > SETTLED_MS;
  });
  const isNew = settled.some(([path, stat]) => !isSameFile(known.get(path), stat));
  if (!isNew && settled.length === known.size) return;
  const files = settled.map(([path, { size, changedMs }]) => [path, { size, changedMs }] as const);
  try {
    await new SessionRefs(engine, id).adopt(references);
    const content = JSON.stringify(Object.fromEntries(files));
    await engine.commit({ docs: [{ name: seenDoc(id), content }] });
  } catch (error) {
    if (!isQuipuError(error)) throw error;
  }
}
