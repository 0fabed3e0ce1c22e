import { expect } from 'vitest';

import type { ContextId, Hash, TurnId } from '../../base/brand.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Collection, SweepReport } from '../../engine/upkeep.ts';
import { appendAll, blobOf, createContext, textOf } from './fixture.ts';

const HOUR = 3_600_000;
/** Enough for every engine to tell old from young. */
const GRACE = HOUR;

/** A store whose clock moves only when told. */
export class Aging {
  nowMs = 1_700_000_000_000;
  readonly clock = (): number => this.nowMs;

  /** Everything stored up to here is old from now on. */
  async pass(engine: Engine): Promise<void> {
    await engine.checkpoint();
    this.nowMs += 2 * GRACE;
  }
}

/** The notes that a collection receives, and a plan in which nothing else is alive. */
export class Ears {
  readonly blobs: Set<Hash> = new Set();
  readonly turns: Set<TurnId> = new Set();
  readonly reliance = {
    blob: (hash: Hash): void => void this.blobs.add(hash),
    turn: (turn: TurnId): void => void this.turns.add(turn),
  };

  start(engine: Engine, graceMs: number = GRACE): Promise<Collection> {
    return engine.upkeep.startCollection({ graceMs, reliance: this.reliance });
  }
}

/** Sweeps a store in which only these blobs and turns are alive, and those that a commit relies on meanwhile. */
export async function sweep(
  collection: Collection,
  ears: Ears,
  alive: { blobs?: readonly string[]; turns?: readonly TurnId[] } = {},
): Promise<SweepReport> {
  const blobs = new Set((alive.blobs ?? []).map((text) => blobOf(text).hash));
  const report = await collection.sweep({
    isLive: (hash) => blobs.has(hash) || ears.blobs.has(hash),
    isLiveTurn: (turn) =>
      turn >= collection.firstNewTurn || (alive.turns ?? []).includes(turn) || ears.turns.has(turn),
    deadShare: 0,
  });
  await collection.end();
  return report;
}

export async function flatten<T>(pages: AsyncIterable<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for await (const page of pages) all.push(...page);
  return all;
}

export async function put(engine: Engine, ...texts: string[]): Promise<void> {
  await engine.commit({ blobs: texts.map(blobOf) });
}

/** Returns those of these texts that the store holds. */
export async function held(engine: Engine, ...texts: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const text of texts) {
    const bytes = textOf(await engine.getBlob(blobOf(text).hash));
    expect(await engine.hasBlob(blobOf(text).hash)).toBe(bytes !== undefined);
    if (bytes === undefined) continue;
    expect(bytes).toBe(text);
    found.push(text);
  }
  return found;
}

export async function* inOne(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Makes a context to work in, and turns that no context leads to. */
export async function orphanTurns(engine: Engine, ...texts: string[]): Promise<ContextId> {
  const { id } = await createContext(engine);
  await appendAll(engine, id, texts);
  await engine.commit({ contexts: [{ do: 'remove', context: id }] });
  return (await createContext(engine)).id;
}
