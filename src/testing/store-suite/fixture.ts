import { it, onTestFinished, type TestAPI } from 'vitest';
import type { Hash } from '../../base/brand.ts';
import type { Engine } from '../../engine/engine.ts';
import type { OpenedStore, StoreOpening, StoreTarget } from './store-target.ts';

/** A store under test, with its target. */
export interface StoreRig extends OpenedStore {
  readonly target: StoreTarget;
}

/** Cases that get a fresh store, if they ask for it. */
export function rigCases(target: StoreTarget): TestAPI<{ rig: StoreRig }> {
  return it.extend<{ rig: StoreRig }>({
    // oxlint-disable-next-line no-empty-pattern -- a case asks for what it needs by its name, and so does this
    rig: async ({}, use) => use(await openRig(target)),
  });
}

/** Opens a fresh store that is closed when the test is over, whatever its result. */
export async function openRig(target: StoreTarget, opening: StoreOpening = {}): Promise<StoreRig> {
  return closing(target, await target.open(opening));
}

/** Opens the same data for a reader that remembers nothing. */
export async function openBeside(rig: StoreRig, opening: StoreOpening = {}): Promise<StoreRig> {
  return closing(rig.target, await rig.target.openBeside(rig, opening));
}

function closing(target: StoreTarget, { engine, store }: OpenedStore): StoreRig {
  onTestFinished(() => store.close());
  return { target, engine, store };
}

export async function countBlobs(engine: Engine): Promise<number> {
  return (await engine.stats()).blobs;
}

/** The name of every blob that is stored. */
export async function blobHashes(engine: Engine): Promise<Set<Hash>> {
  const reliance = { blob: () => undefined, turn: () => undefined };
  const collection = await engine.upkeep.startCollection({ graceMs: 0, reliance });
  const hashes = new Set<Hash>();
  try {
    for await (const page of collection.blobs()) for (const { hash } of page) hashes.add(hash);
  } finally {
    await collection.end();
  }
  return hashes;
}

/** Every blob that is stored, as text. */
export async function blobTexts(engine: Engine): Promise<string[]> {
  const texts: string[] = [];
  for (const hash of await blobHashes(engine)) {
    texts.push(Buffer.from((await engine.getBlob(hash)) ?? []).toString());
  }
  return texts;
}
