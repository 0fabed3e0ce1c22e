import { describe, expect, it } from 'vitest';
import type { Hash } from '../../base/brand.ts';
import { encodeMsgpack } from '../../context/payloads/binary-values.ts';
import type { Store } from '../../store/store.ts';
import { failure, present } from '../engine-suite/fixture.ts';
import { NO_HASH } from '../../format/patch-record.ts';
import type { ContextsTarget } from './contexts-target.ts';
import { openStore, openWith } from './fixture.ts';

const NOW = { graceMs: 0, all: true };
const HAS_ROOT = 32;
const MISSING = 'ab'.repeat(32) as Hash;

async function putFile(store: Store, text: string): Promise<Hash> {
  return (await store.blobs.put(new TextEncoder().encode(text))).hash;
}

/** Puts a tree as existing clients write it: entries of name, kind, mode, size and the 32 bytes of a hash. */
async function putTree(store: Store, entries: Readonly<Record<string, Hash>>): Promise<Hash> {
  const tree = Object.entries(entries).map(([name, hash]) => ({
    '1': name,
    '2': 0,
    '3': 0o644,
    '4': 0,
    '5': new Uint8Array(Buffer.from(hash, 'hex')),
  }));
  return (await store.blobs.put(encodeMsgpack(tree))).hash;
}

async function there(store: Store, hashes: Readonly<Record<string, Hash>>): Promise<string[]> {
  const found: string[] = [];
  for (const [name, hash] of Object.entries(hashes)) {
    if (await store.blobs.has(hash)) found.push(name);
  }
  return found;
}

export function fsRootsSuite(target: ContextsTarget): void {
  describe('file-system roots', () => {
    it('come with turns or are attached to them, and reads say so', async () => {
      const { store, contexts, id, ids } = await openWith(target, 'plain');
      const [one, two] = [await putTree(store, {}), await putTree(store, { a: MISSING })];
      const turn = await contexts.append(id, { type: 't', payload: 1, fsRoot: one });
      expect(turn.flags).toBe(HAS_ROOT);
      expect(await contexts.fsRoot(turn.id)).toBe(one);
      expect(await contexts.fsRoot(present(ids[0]))).toBeUndefined();
      const flags = async (): Promise<number[]> =>
        (await contexts.last(id, 9)).turns.map((read) => read.flags);
      expect(await flags()).toEqual([0, HAS_ROOT]);

      await contexts.attach(present(ids[0]), one);
      await contexts.attach(present(ids[0]), two);
      expect(await contexts.fsRoot(present(ids[0]))).toBe(two);
      expect(await flags()).toEqual([HAS_ROOT, HAS_ROOT]);
      const original = await contexts.last(id, 9, { as: 'original', payload: false });
      expect(original.turns.map((read) => read.flags)).toEqual([HAS_ROOT, HAS_ROOT]);
      expect(await contexts.patches(present(ids[0]))).toEqual([]);
      const [batched] = await contexts.appendBatch(id, [{ type: 't', payload: 2, fsRoot: two }]);
      expect(await contexts.fsRoot(present(batched).id)).toBe(two);
    });

    it('come with turns that are streamed', async () => {
      const { store, contexts, id } = await openWith(target);
      const [one, two] = [await putTree(store, {}), await putTree(store, { a: MISSING })];
      const given = await contexts.open(id, { type: 't', fsRoot: one });
      expect(await contexts.fsRoot(given.id)).toBe(one);
      expect((await given.seal()).flags).toBe(HAS_ROOT);
      const attached = await contexts.open(id, { type: 't' });
      await contexts.attach(attached.id, two);
      expect((await contexts.turn(attached.id))?.flags).toBe(HAS_ROOT | 1);
      await attached.seal();
      expect((await contexts.turn(attached.id))?.flags).toBe(HAS_ROOT);
      expect(await contexts.fsRoot(attached.id)).toBe(two);
    });

    it('are part of what an idempotency key stands for', async () => {
      const { store, contexts, id } = await openWith(target);
      const [one, two] = [await putTree(store, {}), await putTree(store, { a: MISSING })];
      const send = (fsRoot: Hash) =>
        contexts.append(id, { type: 't', payload: 1, fsRoot }, { idempotencyKey: 'k' });
      const first = await send(one);
      expect((await send(one)).id).toBe(first.id);
      await failure(send(two), 'IDEMPOTENCY_CONFLICT');
    });

    it('must be stored trees of turns that are there', async () => {
      const { store, contexts, id, ids } = await openWith(target, 'a');
      const missing = { what: 'fs root tree blob', id: MISSING };
      const turn = { type: 't', payload: 1, fsRoot: MISSING };
      expect((await failure(contexts.append(id, turn), 'NOT_FOUND')).data).toEqual(missing);
      const error = await failure(contexts.attach(present(ids[0]), MISSING), 'NOT_FOUND');
      expect(error.data).toEqual(missing);
      const tree = await putTree(store, {});
      await failure(contexts.attach(99n as never, tree), 'NOT_FOUND');
      await failure(contexts.fsRoot(99n as never), 'NOT_FOUND');
      for (const bad of ['', 'x', tree.toUpperCase(), 7, null]) {
        const wrong = await failure(contexts.attach(present(ids[0]), bad as never), 'INVALID');
        expect(wrong.data).toEqual({ what: 'root' });
        const other = { ...turn, fsRoot: bad as never };
        const alike = await failure(contexts.append(id, other), 'INVALID');
        expect(alike.data).toEqual({ what: 'fsRoot' });
      }
      expect((await contexts.get(id))?.head).toBe(ids[0]);
    });

    it('are named by the turn of a batch that has them, like all that is wrong with one', async () => {
      const { contexts, id } = await openWith(target);
      const good = { type: 't', payload: 1 };
      const cases = [
        [{ ...good, type: 'a\n' }, 'INVALID', 'turns[1].type'],
        [{ ...good, payload: undefined }, 'INVALID', 'turns[1].payload'],
        [{ ...good, fsRoot: 'x' }, 'INVALID', 'turns[1].fsRoot'],
        [null, 'INVALID', 'turns[1]'],
        [{ ...good, payload: new Uint8Array(3_000_000) }, 'TOO_LARGE', 'turns[1].payload'],
        [{ ...good, fsRoot: MISSING }, 'NOT_FOUND', 'fs root tree blob'],
      ] as const;
      for (const [bad, code, what] of cases) {
        const error = await failure(contexts.appendBatch(id, [good, bad as never]), code);
        expect(error.message).toContain('turns[1]');
        expect(error.data).toMatchObject({ what });
      }
      expect((await contexts.get(id))?.head).toBe(0n);
    });

    it('keep all that their trees name as long as the turn stays, and no longer', async () => {
      const store = await openStore(target);
      const { contexts } = store;
      const [file, deep, other] = [
        await putFile(store, 'file'),
        await putFile(store, 'deep'),
        await putFile(store, 'other'),
      ];
      const folder = await putTree(store, { deep });
      const root = await putTree(store, { file, folder });
      const replaced = await putTree(store, { other });
      const listed = await putFile(store, 'listed');
      const list = await putFile(store, JSON.stringify({ files: [{ name: 'x', hash: listed }] }));
      const blobs = { file, deep, other, folder, root, replaced, listed, list };
      const { id } = await contexts.create();
      const { id: turn } = await contexts.append(id, { type: 't', payload: 1, fsRoot: replaced });
      await contexts.append(id, { type: 't', payload: 2, fsRoot: list });
      await contexts.attach(turn, root);

      await store.maintain.gc(NOW);
      const kept = ['file', 'deep', 'folder', 'root', 'listed', 'list'];
      expect(await there(store, blobs)).toEqual(kept);
      expect(await store.maintain.verify()).toMatchObject({ ok: true, problems: [] });
      const fork = await contexts.fork(turn);
      await contexts.remove(id);
      await store.maintain.gc(NOW);
      expect(await there(store, blobs)).toEqual(['file', 'deep', 'folder', 'root']);
      expect(await contexts.fsRoot(turn)).toBe(root);
      await contexts.remove(fork.id);
      await store.maintain.gc(NOW);
      expect(await there(store, blobs)).toEqual([]);
      expect(await store.maintain.verify()).toMatchObject({ ok: true, problems: [] });
    });

    it('keep the tree of a turn that is still being streamed', async () => {
      const { store, contexts, id } = await openWith(target);
      const file = await putFile(store, 'file');
      const root = await putTree(store, { file });
      const open = await contexts.open(id, { type: 't', fsRoot: root });
      await contexts.remove(id);
      await store.maintain.gc(NOW);
      expect(await there(store, { file, root })).toEqual(['file', 'root']);
      await open.abort('gone');
      expect(await store.maintain.verify()).toMatchObject({ ok: true, problems: [] });
      await store.maintain.gc(NOW);
      expect(await there(store, { file, root })).toEqual([]);
    });

    it('count as users of their tree when it is erased, and keep their payload', async () => {
      const { store, contexts, id } = await openWith(target);
      const root = await putTree(store, {});
      const turn = await contexts.append(id, { type: 't', payload: 'stays', fsRoot: root });
      const reason = { reason: 'a secret path' };
      expect(await store.blobs.erase(root, reason)).toMatchObject({
        erased: false,
        usedBy: [turn.id],
      });
      const done = await store.blobs.erase(root, { ...reason, everywhere: true });
      expect(done).toMatchObject({ erased: true, usedBy: [turn.id] });
      expect(await contexts.turn(turn.id)).toMatchObject({ payload: 'stays', tombstone: false });
      expect(await contexts.fsRoot(turn.id)).toBe(NO_HASH);
      expect(await store.maintain.verify()).toMatchObject({ ok: true, problems: [] });
      await store.maintain.gc(NOW);
    });
  });
}
