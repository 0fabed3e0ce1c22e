import { describe, expect, it } from 'vitest';
import { NO_TURN, toContextId, toTurnId } from '../../base/brand.ts';
import { hashBytes } from '../../base/hash.ts';
import type { BatchTurn } from '../../context/contexts.ts';
import type { Turn } from '../../context/turn.ts';
import { failure, present } from '../engine-suite/fixture.ts';
import type { ContextsTarget } from './contexts-target.ts';
import { openStore, openWith, payloadsOf } from './fixture.ts';

export function appendSuite(target: ContextsTarget): void {
  describe('appending', () => {
    it('answers with the turn as it will be read', async () => {
      const { contexts, id, ids } = await openWith(target, 'first');
      const payload = { text: 'grün', n: 1 };
      const turn = await contexts.append(id, { type: 'chat.message', version: 3, payload });
      const bytes = Buffer.from('{"n":1,"text":"grün"}');
      expect(turn).toMatchObject({ id: 2n, context: id, parent: ids[0], depth: 1, version: 3 });
      expect(turn).toMatchObject({ type: 'chat.message', encoding: 'json', size: bytes.length });
      expect(turn).toMatchObject({ payloadHash: hashBytes(bytes), state: 'sealed', flags: 0 });
      expect(turn.payload).toEqual(payload);
      expect(turn.bytes).toEqual(new Uint8Array(bytes));
      expect(Math.abs(turn.createdAt - Date.now())).toBeLessThan(60_000);
      const read = present(await contexts.turn(turn.id));
      expect(read.toJSON()).toEqual(turn.toJSON());
      expect(JSON.parse(JSON.stringify(read))).toMatchObject({ id: '2', parent: '1', payload });
      expect(await contexts.get(id)).toMatchObject({ head: 2n, headDepth: 1 });
    });

    it('gives a payload that cannot be decoded back as bytes, with a flag', async () => {
      const { contexts, id } = await openWith(target);
      // A thousand arrays of a million each, and a megabyte of arrays in each other.
      const hostile = [Buffer.from('dd000f4240'.repeat(1000), 'hex'), Buffer.alloc(1 << 20, 0x91)];
      for (const payload of hostile) {
        await contexts.append(id, { type: 'hostile', encoding: 'msgpack', payload });
      }
      const { turns } = await contexts.last(id, 2);
      expect(turns.map((turn) => turn.undecodable)).toEqual([true, true]);
      expect(turns.map((turn) => turn.payload)).toEqual(
        hostile.map((bytes) => new Uint8Array(bytes)),
      );
      expect(turns[0]?.toJSON()).toMatchObject({ encoding: 'msgpack', undecodable: true });
    });

    it('keeps every encoding', async () => {
      const { contexts, id } = await openWith(target);
      const bytes = Uint8Array.from({ length: 256 }, (_, n) => n);
      const cases = [
        [{ payload: bytes }, 'bytes', bytes],
        [{ payload: 'plain', encoding: 'text' }, 'text', 'plain'],
        [{ payload: 'plain' }, 'json', 'plain'],
        [{ payload: null }, 'json', null],
        [
          { payload: { b: bytes, n: 2n ** 60n }, encoding: 'msgpack' },
          'msgpack',
          { b: bytes, n: 2n ** 60n },
        ],
        [{ payload: new Uint8Array(), encoding: 'text' }, 'text', ''],
      ] as const;
      for (const [given, encoding, payload] of cases) {
        const { id: turn } = await contexts.append(id, { type: 't', ...given });
        const read = present(await contexts.turn(turn));
        expect(read.encoding).toBe(encoding);
        expect(read.payload).toEqual(payload);
        expect(JSON.stringify(read)).toContain('"payload":');
      }
    });

    it('stores equal payloads once', async () => {
      const { store, contexts, id } = await openWith(target);
      for (const payload of [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ]) {
        await contexts.append(id, { type: 't', payload });
      }
      expect(await store.maintain.stats()).toMatchObject({ turns: 2, blobs: 1, logicalBytes: 26 });
    });

    it('gives out bytes that are the reader’s own', async () => {
      const { contexts, ids } = await openWith(target, Buffer.from('abc'));
      const read = present(await contexts.turn(present(ids[0])));
      expect(read.bytes).toBe(read.bytes);
      present(read.bytes).fill(0);
      const again = present(await contexts.turn(present(ids[0])));
      expect(again.bytes).toEqual(new Uint8Array([97, 98, 99]));
    });

    const plain = { type: 't', payload: 'x' };

    it('rewinds to an explicit parent', async () => {
      const { contexts, id, ids } = await openWith(target, 'a', 'b', 'c');
      const added = await contexts.append(id, plain, { parent: present(ids[0]) });
      expect(added).toMatchObject({ parent: ids[0], depth: 1 });
      expect(payloadsOf((await contexts.last(id, 9)).turns)).toEqual(['a', 'x']);
      const error = await failure(
        contexts.append(id, plain, { parent: toTurnId(99) }),
        'NOT_FOUND',
      );
      expect(error.data).toEqual({ what: 'turn', id: '99' });
      await failure(contexts.append(toContextId(99), plain), 'NOT_FOUND');
    });

    it('compares the head when asked, and writes nothing on a mismatch', async () => {
      const { contexts, id } = await openWith(target);
      const first = await contexts.append(id, plain, { expectedHead: NO_TURN });
      const error = await failure(
        contexts.append(id, plain, { expectedHead: NO_TURN }),
        'HEAD_MOVED',
      );
      expect(error.data).toEqual({ context: '1', expected: '0', head: '1' });
      expect(await contexts.get(id)).toMatchObject({ head: first.id, headDepth: 0 });
      await contexts.append(id, plain, { expectedHead: first.id });
    });

    it('makes one chain of what is sent at the same time', async () => {
      const { contexts, id } = await openWith(target);
      const sent = Array.from({ length: 50 }, (_, n) =>
        contexts.append(id, { type: 't', payload: n }),
      );
      const turns = await Promise.all(sent);
      const { turns: read } = await contexts.last(id, 100);
      expect(read.map(({ depth }) => depth)).toEqual(turns.map((_, n) => n));
      expect(new Set(payloadsOf(read)).size).toBe(50);
    });

    const three = ['b', 'c', 'd'].map((payload) => ({ type: 't', payload }));

    it('appends all as one chain', async () => {
      const { contexts, id, ids } = await openWith(target, 'a', 'z');
      const parent = present(ids[0]);
      const added = await contexts.appendBatch(id, three, {
        parent,
        expectedHead: present(ids[1]),
      });
      expect(added.map(({ depth }) => depth)).toEqual([1, 2, 3]);
      expect(payloadsOf(added)).toEqual(['b', 'c', 'd']);
      expect(payloadsOf((await contexts.last(id, 9)).turns)).toEqual(['a', 'b', 'c', 'd']);
    });

    it('appends none when one is wrong', async () => {
      const { contexts, id, ids } = await openWith(target, 'a');
      const wrong = [...three, { type: 't', payload: undefined }];
      await failure(contexts.appendBatch(id, wrong), 'INVALID');
      await failure(contexts.appendBatch(id, three, { expectedHead: NO_TURN }), 'HEAD_MOVED');
      await failure(contexts.appendBatch(id, []), 'INVALID');
      expect(await contexts.get(id)).toMatchObject({ head: ids[0] });
    });

    it('applies a key once', async () => {
      const { store } = await openWith(target);
      const { contexts } = store;
      const { id } = await contexts.create();
      const send = (payload: string, context = id) =>
        contexts.append(context, { type: 't', payload }, { idempotencyKey: 'k' });
      const [first, ...others] = await Promise.all([send('a'), send('a'), send('a')]);
      await contexts.append(id, { type: 't', payload: 'between' });
      for (const again of [...others, await send('a')]) {
        expect(again.toJSON()).toEqual(first.toJSON());
      }
      expect((await contexts.last(id, 9)).turns.length).toBe(2);
      const error = await failure(send('b'), 'IDEMPOTENCY_CONFLICT');
      expect(error.data).toMatchObject({ context: String(id), turn: String(first.id) });
      const other = await contexts.create();
      expect((await send('b', other.id)).depth).toBe(0);
    });

    it('applies the key of a batch once', async () => {
      const store = await openStore(target);
      const { id } = await store.contexts.create();
      const turns = ['a', 'b'].map((payload) => ({ type: 't', payload }));
      const send = () => store.contexts.appendBatch(id, turns, { idempotencyKey: 'k' });
      const first = await send();
      const second = await send();
      expect(second.map((turn) => turn.toJSON())).toEqual(first.map((turn) => turn.toJSON()));
      const shorter = store.contexts.appendBatch(id, turns.slice(1), { idempotencyKey: 'k' });
      await failure(shorter, 'IDEMPOTENCY_CONFLICT');
    });

    const keyed = (text: string): BatchTurn[] =>
      Array.from(text, (payload) => ({ type: 't', payload, idempotencyKey: `key of ${payload}` }));
    const jsonOf = (turns: readonly Turn[]) => turns.map((turn) => turn.toJSON());

    it('gives the turns of a batch with their own keys again', async () => {
      const { contexts, id } = await openWith(target);
      const first = await contexts.appendBatch(id, keyed('abc'));
      await contexts.append(id, { type: 't', payload: 'between' });
      expect(jsonOf(await contexts.appendBatch(id, keyed('abc')))).toEqual(jsonOf(first));
      const alone = { type: 't', payload: 'b' };
      const again = await contexts.append(id, alone, { idempotencyKey: 'key of b' });
      expect(again.toJSON()).toEqual(first[1]?.toJSON());
      expect(payloadsOf((await contexts.last(id, 9)).turns)).toEqual(['a', 'b', 'c', 'between']);
    });

    it('appends the turns whose keys are new, and tells followers only of them', async () => {
      const { contexts, id } = await openWith(target);
      const first = await contexts.appendBatch(id, keyed('ab'));
      const after = present(first[1]).id;
      const follower = contexts.follow(id, { after })[Symbol.asyncIterator]();
      const added = await contexts.appendBatch(id, keyed('bcad'), { expectedHead: after });
      expect(payloadsOf(added)).toEqual(['b', 'c', 'a', 'd']);
      expect(jsonOf([present(added[0]), present(added[2])])).toEqual(jsonOf(first.toReversed()));
      expect(payloadsOf((await contexts.last(id, 9)).turns)).toEqual(['a', 'b', 'c', 'd']);
      for (const expected of ['c', 'd']) {
        expect(await follower.next()).toMatchObject({ value: { payload: expected } });
      }
      await follower.return?.();
    });

    it('changes nothing when a key stands for another turn or the head is another', async () => {
      const { contexts, id } = await openWith(target);
      const [a] = await contexts.appendBatch(id, keyed('a'));
      const other = { type: 't', payload: 'other', idempotencyKey: 'key of a' };
      const error = await failure(
        contexts.appendBatch(id, [...keyed('xy'), other]),
        'IDEMPOTENCY_CONFLICT',
      );
      expect(error.data).toMatchObject({ key: 'key of a', turn: String(present(a).id) });
      const moved = contexts.appendBatch(id, keyed('ax'), { expectedHead: NO_TURN });
      await failure(moved, 'HEAD_MOVED');
      expect(payloadsOf((await contexts.last(id, 9)).turns)).toEqual(['a']);
    });

    it('wants a key for all turns of a batch or for none', async () => {
      const { contexts, id } = await openWith(target);
      const some = [...keyed('a'), { type: 't', payload: 'b' }];
      const error = await failure(contexts.appendBatch(id, some), 'INVALID');
      expect(error.data).toMatchObject({ what: 'turns[1].idempotencyKey' });
      const both = contexts.appendBatch(id, keyed('a'), { idempotencyKey: 'k' });
      await failure(both, 'INVALID');
      await failure(contexts.append(id, present(keyed('a')[0])), 'INVALID');
      expect((await contexts.last(id, 9)).turns).toEqual([]);
    });

    it('appends each turn once when many send overlapping batches at once', async () => {
      const { contexts, id } = await openWith(target);
      const sent = ['abc', 'bcd', 'cab', 'dabc'].map((text) =>
        contexts.appendBatch(id, keyed(text)),
      );
      for (const turns of await Promise.all(sent)) {
        for (const turn of turns) expect(await contexts.turn(turn.id)).toEqual(turn);
      }
      const { turns } = await contexts.last(id, 9);
      expect(turns).toHaveLength(4);
      expect(new Set(payloadsOf(turns))).toEqual(new Set(['a', 'b', 'c', 'd']));
    });
  });
}
