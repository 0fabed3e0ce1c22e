import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { openStore } from '../../src/open-store.ts';
import type { IndexPlace, KeptIndex } from '../../src/search/contract/search-index.ts';
import { indexInFolder } from '../../src/search/files/index-place.ts';
import { createStore } from '../../src/store/create-store.ts';
import { SearchKeeper } from '../../src/store/kept-store.ts';
import { ask, idsOf } from '../../src/testing/search-suite/fixture.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

// A process that is killed leaves the files as its writes had made them. The index only adds to its log, one frame after
// the other, until it moves the log into the file. So the log, cut off anywhere, is what a kill leaves.

const ROUNDS = 5;
const ROUND_TURNS = 12;
/** Of the log and of a frame in it, before its page. */
const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const PAGE_BYTES = 4096;

/** A store whose index was written in several transactions, none of which has left the log. */
export interface Written {
  readonly folder: string;
  /** Where a write of the log ends, and the middle of each. */
  readonly cuts: readonly number[];
  readonly turns: number;
}

/** `change` makes another index of the one that is tested. */
export async function writeIndex(
  change: (index: KeptIndex) => KeptIndex = (index) => index,
): Promise<Written> {
  const folder = freshFolder('quipu-search-cut-');
  const engine = await openFilesEngine(folder, { durability: 'unsafe' });
  const place = indexInFolder(folder);
  const changed: IndexPlace = {
    exists: () => place.exists(),
    open: async (fingerprint) => change(await place.open(fingerprint)),
    remove: () => place.remove(),
  };
  const queues = { folder: join(folder, 'queues') };
  const search = new SearchKeeper({ engine, folder, queues, place: changed, settings: true });
  const store = createStore(search.engine, { folder, queues, search });
  const { id } = await store.contexts.create();
  for (let round = 0; round < ROUNDS; round += 1) {
    const turns = Array.from({ length: ROUND_TURNS }, (_, nth) => {
      return { type: 'm', payload: `word r${round} n${nth}` };
    });
    await store.contexts.appendBatch(id, turns);
    await ask(store, 'word');
  }
  for (const ending of ['', '-wal']) copyFileSync(indexFile(folder, ending), kept(folder, ending));
  await store.close();
  return {
    folder,
    cuts: cutsOf(readFileSync(kept(folder, '-wal')).length),
    turns: ROUNDS * ROUND_TURNS,
  };
}

/** Opens the store with the log cut off there. Returns what is wrong with its index then. */
export async function findLoss(
  { folder, turns }: Written,
  cut: number,
): Promise<string | undefined> {
  rmSync(indexFile(folder, '-shm'), { force: true });
  copyFileSync(kept(folder, ''), indexFile(folder, ''));
  writeFileSync(indexFile(folder, '-wal'), readFileSync(kept(folder, '-wal')).subarray(0, cut));
  const store = await openStore(folder, { durability: 'unsafe' });
  try {
    const ids = await idsOf(store, 'word', { limit: 100 });
    const { documents } = (await ask(store, 'word')).index;
    const once = new Set(ids).size;
    if (ids.length === turns && once === turns && documents === turns) return undefined;
    return `cut at ${cut}: ${ids.length} hits, ${once} of them different, ${documents} documents`;
  } finally {
    await store.close();
  }
}

/** Marks before the documents that they are about: a kill between the two loses documents. */
export function marksFirst(index: KeptIndex): KeptIndex {
  return new Proxy(index, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== 'apply')
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      const apply: KeptIndex['apply'] = async (page) => {
        await target.apply({ ...page, changes: [], isLast: true });
        return target.apply({ ...page, marks: [], isLast: true });
      };
      return apply;
    },
  });
}

function indexFile(folder: string, ending: string): string {
  return join(folder, `search.db${ending}`);
}

function kept(folder: string, ending: string): string {
  return join(folder, `kept.db${ending}`);
}

function cutsOf(bytes: number): number[] {
  const frame = FRAME_HEADER_BYTES + PAGE_BYTES;
  const cuts = [0];
  for (let at = LOG_HEADER_BYTES; at <= bytes; at += frame) cuts.push(at, at + frame / 2);
  return cuts.filter((cut) => cut <= bytes);
}
