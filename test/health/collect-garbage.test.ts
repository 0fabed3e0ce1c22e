import { describe, expect, it } from 'vitest';
import { QuipuError } from '../../src/base/errors.ts';
import { hashBytes } from '../../src/base/hash.ts';
import { canonicalJson } from '../../src/base/canonical-json.ts';
import { pinRoots } from '../../src/context/pin-roots.ts';
import type { Root, RootSource } from '../../src/engine/roots.ts';
import { collectGarbage } from '../../src/maintain/collect-garbage.ts';
import { createStore } from '../../src/store/create-store.ts';
import { ModelEngine } from '../../src/testing/model-engine.ts';
import {
  append,
  blobOf,
  createContext,
  failure,
  only,
} from '../../src/testing/engine-suite/fixture.ts';

const NOW = { graceMs: 0, all: true };

function source(kind: string, roots: () => AsyncIterable<Root>): RootSource {
  return { kind, roots, rootsIn: () => [] };
}

describe('collectGarbage', () => {
  it('stops before anything goes when a root cannot be read, and says whose', async () => {
    const engine = new ModelEngine();
    await engine.commit({ blobs: [blobOf('a')] });
    const broken = source('chats', async function* () {
      yield { blob: blobOf('b').hash };
      throw new QuipuError('CORRUPT', 'the index of chat 7 is damaged', { file: 'x', offset: 3 });
    });
    const error = await failure(collectGarbage(engine, [broken], NOW), 'CORRUPT');
    expect(error.message).toContain('a root of chats cannot be read: the index of chat 7');
    expect(error.data).toEqual({ file: 'x', offset: 3 });
    expect(await engine.hasBlob(blobOf('a').hash)).toBe(true);
    // It let go of the store, and of the listener.
    expect(await collectGarbage(engine, [], NOW)).toMatchObject({ removedBlobs: 1 });
  });

  it('follows nodes through the store', async () => {
    const engine = new ModelEngine();
    const leaf = blobOf('leaf');
    const bytes = new TextEncoder().encode(
      canonicalJson({ type: 'state', payload: 1, refs: [leaf.hash, null] }),
    );
    const node = { hash: hashBytes(bytes), bytes };
    await engine.commit({ blobs: [leaf, node, blobOf('loose')] });
    const nodes = source('workflows', async function* () {
      yield { node: node.hash };
    });
    expect(await collectGarbage(engine, [nodes], NOW)).toMatchObject({
      liveBlobs: 2,
      removedBlobs: 1,
    });
    expect(await engine.hasBlob(leaf.hash)).toBe(true);
  });

  it('hears of a turn that is pinned after the pins were read', async () => {
    const engine = new ModelEngine();
    const store = createStore(engine);
    const { id } = await createContext(engine);
    const turn = await append(engine, id, 'to be pinned');
    await append(engine, id, 'to be forgotten');
    await store.contexts.remove(id);
    const late = source('late', async function* () {
      await store.contexts.pin(turn.id);
      yield* [];
    });
    const pins = pinRoots(engine);
    expect(await collectGarbage(engine, [pins, late], NOW)).toMatchObject({ removedBlobs: 1 });
    expect(await store.contexts.turn(turn.id)).toMatchObject({ payload: 'to be pinned' });
    expect(only(await store.contexts.pins()).turn).toBe(turn.id);
  });
});
