import { describe, expect, it } from 'vitest';
import { QuipuError } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { contextRoots } from '../../context/context-roots.ts';
import { pinRoots } from '../../context/pins/pin-verbs.ts';
import type { BlobPut } from '../../engine/batch.ts';
import type { Root, RootSource } from '../../engine/roots.ts';
import { collectGarbage } from '../../maintain/collect-garbage.ts';
import { openRig } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { append, blobOf, createContext, failure, only } from '../engine-suite/fixture.ts';

const NOW = { graceMs: 0, all: true };

function source(kind: string, roots: () => AsyncIterable<Root>): RootSource {
  return { kind, roots, rootsIn: () => [] };
}

function toBlob(text: string): BlobPut {
  const bytes = new TextEncoder().encode(text);
  return { hash: hashBytes(bytes), bytes };
}

/** A tree in JSON that names one file. */
function treeOf(file: string): BlobPut {
  return toBlob(JSON.stringify([{ name: 'a', hash: blobOf(file).hash }]));
}

export function collectingSuite(target: StoreTarget): void {
  describe('collectGarbage', () => {
    it('takes any time from 0 as the age that spares, and nothing else', async () => {
      const { store } = await openRig(target);
      await store.blobs.put(Buffer.from('young'));
      for (const graceMs of [3_600_000.5, 1e300]) {
        expect(await store.maintain.gc({ graceMs })).toMatchObject({ deadBlobs: 0 });
      }
      for (const graceMs of [-1, Number.NaN, Infinity, '1' as never]) {
        await failure(store.maintain.gc({ graceMs }), 'INVALID');
      }
    });

    it('stops before anything goes when a root cannot be read, and says whose', async () => {
      const { engine } = await openRig(target);
      await engine.commit({ blobs: [blobOf('a')] });
      const broken = source('chats', async function* () {
        yield { blob: blobOf('b').hash };
        throw new QuipuError('CORRUPT', 'the index of chat 7 is damaged', { file: 'x', offset: 3 });
      });
      const error = await failure(collectGarbage(engine, [broken], NOW), 'CORRUPT');
      expect(error.message).toContain('a root of chats cannot be read: the index of chat 7');
      expect(error.data).toEqual({ file: 'x', offset: 3 });
      expect(await engine.hasBlob(blobOf('a').hash)).toBe(true);
      // The collection released the store, and the listener.
      expect(await collectGarbage(engine, [], NOW)).toMatchObject({ removedBlobs: 1 });
    });

    it('follows nodes through the store', async () => {
      const { engine } = await openRig(target);
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

    it('keeps what the tree of a turn names that is appended while it runs', async () => {
      const { engine } = await openRig(target);
      const { id } = await createContext(engine);
      const [file, folder] = [blobOf('file'), treeOf('file')];
      const root = toBlob(`["${folder.hash}"]`);
      await engine.commit({ blobs: [file, folder, root, blobOf('loose')] });
      const late = source('late', async function* () {
        await append(engine, id, 'turn', { fsRoot: root.hash });
        yield* [];
      });
      const sources = [contextRoots(engine), late];
      expect(await collectGarbage(engine, sources, NOW)).toMatchObject({ removedBlobs: 1 });
      for (const { hash } of [file, folder, root]) expect(await engine.hasBlob(hash)).toBe(true);
    });

    it('keeps the tree of a turn that somebody comes to need while it runs', async () => {
      const { engine } = await openRig(target);
      const { id } = await createContext(engine);
      const tree = treeOf('file');
      await engine.commit({ blobs: [blobOf('file'), tree] });
      const turn = await append(engine, id, 'turn', { fsRoot: tree.hash });
      await engine.commit({ contexts: [{ do: 'remove', context: id }] });
      const start = engine.upkeep.startCollection.bind(engine.upkeep);
      engine.upkeep.startCollection = async (options) => {
        const collection = await start(options);
        const sweep = collection.sweep.bind(collection);
        collection.sweep = async (plan) => {
          await createContext(engine, { base: turn.id });
          return sweep(plan);
        };
        return collection;
      };
      expect(await collectGarbage(engine, [], NOW)).toMatchObject({ removedBlobs: 0 });
      expect(await engine.getFsRoots([turn.id])).toMatchObject([{ root: tree.hash }]);
      expect(await engine.hasBlob(blobOf('file').hash)).toBe(true);
    });

    it('stops before anything goes when a tree cannot be read', async () => {
      const { engine } = await openRig(target);
      const { id } = await createContext(engine);
      const tree = treeOf('file');
      await engine.commit({ blobs: [blobOf('file'), tree, blobOf('loose')] });
      await append(engine, id, 'turn', { fsRoot: tree.hash });
      const readBlob = engine.readBlob.bind(engine);
      engine.readBlob = async function* () {
        yield* [];
        throw new QuipuError('CORRUPT', 'a record is damaged', { file: 'x', offset: 3 });
      };
      const error = await failure(collectGarbage(engine, [contextRoots(engine)], NOW), 'CORRUPT');
      expect(error.message).toContain(
        'a blob of a file system cannot be read: a record is damaged',
      );
      expect(await engine.hasBlob(blobOf('loose').hash)).toBe(true);
      engine.readBlob = readBlob;
      const report = await collectGarbage(engine, [contextRoots(engine)], NOW);
      expect(report).toMatchObject({ removedBlobs: 1 });
    });

    it('hears of a turn that is pinned after the pins were read', async () => {
      const { engine, store } = await openRig(target);
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
}
