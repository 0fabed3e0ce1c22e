import { describe, expect, it, vi } from 'vitest';

import { NO_TURN, toTurnId } from '../../base/brand.ts';
import type { ContextId } from '../../base/brand.ts';
import type { Batch, Committed } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { TurnRow } from '../../engine/rows.ts';
import { TurnFlag } from '../../format/turn-record.ts';
import type { EngineTarget } from './engine-target.ts';
import {
  append,
  appendBatch,
  createContext,
  failure,
  listen,
  openEngine,
  openTurn,
  turnOf,
} from './fixture.ts';
import { PATIENCE } from '../patience.ts';
import { readAll } from './read-all.ts';

type Given = Parameters<typeof turnOf>[2];

export function idempotencySuite(target: EngineTarget): void {
  describe('idempotency keys', () => {
    it('gives the first result again and stores nothing', async () => {
      const { engine, id } = await start(target);
      const first = await engine.commit(keyed(id, 'k', 'a'));
      expect(first.replayed).toBe(false);
      await append(engine, id, 'b');
      const before = await readAll(engine);
      const heard = listen(engine);
      const effects: Batch = {
        contexts: [{ do: 'create' }],
        logs: [{ do: 'append', name: 'logs/log', lines: ['1'] }],
        docs: [{ name: 'doc', content: '1' }],
      };
      const again = await engine.commit({ ...keyed(id, 'k', 'a'), ...effects });
      expect(again).toMatchObject({ replayed: true, turns: first.turns });
      expect(await readAll(engine)).toEqual(before);
      expect(heard).toEqual([]);
    });

    it('gives all turns of the first batch again', async () => {
      const { engine, id } = await start(target);
      const all = ['a', 'b', 'c'].map((content) => turnOf(id, content));
      const batch = { blobs: all.map(({ blob }) => blob), turns: all.map(({ turn }) => turn) };
      const first = await engine.commit({ idempotency: { context: id, key: 'k' }, ...batch });
      expect(first.turns.map((turn) => turn.flags)).toEqual([
        0,
        TurnFlag.CONTINUES,
        TurnFlag.CONTINUES,
      ]);
      await append(engine, id, 'd');
      await engine.commit(keyed(id, 'other', 'e'));
      const again = await engine.commit({ idempotency: { context: id, key: 'k' }, ...batch });
      expect(again).toMatchObject({ replayed: true, turns: first.turns });
      expect(await engine.getHead(id)).toMatchObject({ head: 5n });
    });

    it('looks at the key before any condition', async () => {
      const { engine, id } = await start(target);
      const batch = keyed(id, 'k', 'a', { expectedHead: NO_TURN });
      const first = await engine.commit(batch);
      expect(await engine.commit(batch)).toMatchObject({ replayed: true, turns: first.turns });
      await openTurn(engine, id);
      expect(await engine.commit(batch)).toMatchObject({ replayed: true, turns: first.turns });
    });

    it('keeps keys apart by context and by every character', async () => {
      const { engine, id } = await start(target);
      const other = await createContext(engine);
      const keys = ['k', 'K', 'k ', 'ключ', '1', 'k\u0000'];
      for (const context of [id, other.id]) {
        for (const key of keys)
          expect((await engine.commit(keyed(context, key, 'a'))).replayed).toBe(false);
      }
      expect(await engine.getTurn(toTurnId(2 * keys.length))).toBeDefined();
    });

    it('does not use up a key when the batch fails', async () => {
      const { engine, id } = await start(target);
      await failure(
        engine.commit(keyed(id, 'k', 'a', { expectedHead: toTurnId(9) })),
        'HEAD_MOVED',
      );
      await failure(
        engine.commit({ ...keyed(id, 'k', 'a'), docs: [{ name: 'd', content: 'x' }] }),
        'INVALID',
      );
      expect(await engine.commit(keyed(id, 'k', 'b'))).toMatchObject({
        replayed: false,
        turns: [{ id: 1n }],
      });
    });

    it('refuses other turns under the same key', async () => {
      const { engine, id } = await start(target);
      await append(engine, id, 'root');
      await engine.commit(keyed(id, 'k', 'a'));
      await engine.commit(keyed(id, 'parent given', 'a', { parent: toTurnId(1) }));
      const before = await readAll(engine);

      const others: Given[] = [
        { type: 'other' },
        { version: 2 },
        { encoding: 0 },
        { parent: toTurnId(1) },
      ];
      for (const given of others)
        await failure(engine.commit(keyed(id, 'k', 'a', given)), 'IDEMPOTENCY_CONFLICT');
      // An engine may refuse a wrong payload size for that reason alone.
      await expect(engine.commit(keyed(id, 'k', 'a', { size: 99 }))).rejects.toMatchObject({
        code: expect.stringMatching(/^(?:IDEMPOTENCY_CONFLICT|INVALID)$/) as unknown,
      });
      const error = await failure(engine.commit(keyed(id, 'k', 'b')), 'IDEMPOTENCY_CONFLICT');
      expect(error.data).toEqual({ context: '1', key: 'k', turn: '2' });
      await failure(engine.commit(keyed(id, 'parent given', 'a')), 'IDEMPOTENCY_CONFLICT');
      await failure(
        engine.commit(keyed(id, 'parent given', 'a', { parent: toTurnId(2) })),
        'IDEMPOTENCY_CONFLICT',
      );
      expect(await readAll(engine)).toEqual(before);
      const same = keyed(id, 'parent given', 'a', { parent: toTurnId(1) });
      expect(await engine.commit(same)).toMatchObject({ replayed: true });
    });

    it('refuses more or fewer turns under the same key', async () => {
      const { engine, id } = await start(target);
      const [a, b] = [turnOf(id, 'a'), turnOf(id, 'b')];
      const idempotency = { context: id, key: 'k' };
      await engine.commit({ idempotency, blobs: [a.blob, b.blob], turns: [a.turn, b.turn] });
      await append(engine, id, 'a');
      await failure(engine.commit({ idempotency, turns: [a.turn] }), 'IDEMPOTENCY_CONFLICT');
      await failure(
        engine.commit({ idempotency, turns: [a.turn, b.turn, a.turn] }),
        'IDEMPOTENCY_CONFLICT',
      );
      await failure(
        engine.commit({ idempotency, turns: [b.turn, a.turn] }),
        'IDEMPOTENCY_CONFLICT',
      );
    });

    it('is for turns of its own context', async () => {
      const { engine, id } = await start(target);
      const other = await createContext(engine);
      const [a, b] = [turnOf(id, 'a'), turnOf(other.id, 'a')];
      const idempotency = { context: id, key: 'k' };
      await failure(
        engine.commit({ idempotency, blobs: [a.blob], turns: [a.turn, b.turn] }),
        'INVALID',
      );
      expect(await engine.getTurn(toTurnId(1))).toBeUndefined();
    });

    it('applies a key once when many send it at the same time', async () => {
      const { engine, id } = await start(target);
      const results: Committed[] = await Promise.all(
        Array.from({ length: 20 }, () => engine.commit(keyed(id, 'k', 'a'))),
      );
      expect(results.filter((result) => !result.replayed)).toHaveLength(1);
      const rows: (readonly TurnRow[])[] = results.map((result) => result.turns);
      for (const turns of rows) expect(turns).toEqual(rows[0]);
      expect(await engine.getTurn(toTurnId(2))).toBeUndefined();
    });

    it('lets one of two win when they send other turns at the same time', async () => {
      const { engine, id } = await start(target);
      const sent = ['a', 'b'].map((content) => engine.commit(keyed(id, 'k', content)));
      const ended = await Promise.allSettled(sent);
      expect(ended.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      expect(await engine.getTurn(toTurnId(2))).toBeUndefined();
    });

    const batchOf = (context: ContextId, keys: string, given: Given = {}): Batch => {
      const all = Array.from(keys, (key) => turnOf(context, `content ${key}`, { ...given, key }));
      return { blobs: all.map(({ blob }) => blob), turns: all.map(({ turn }) => turn) };
    };

    it('replays a batch whose turns are all known, and stores nothing', async () => {
      const { engine, id } = await start(target);
      const first = await engine.commit(batchOf(id, 'abc'));
      expect(first).toMatchObject({ replayed: false, turns: [{ flags: 0 }, { flags: 0 }, {}] });
      const before = await readAll(engine);
      const heard = listen(engine);
      const docs = [{ name: 'doc', content: '1' }];
      const again = await engine.commit({ ...batchOf(id, 'cab'), docs });
      const [a, b, c] = first.turns;
      expect(again).toMatchObject({ replayed: true, turns: [c, a, b] });
      expect(await readAll(engine)).toEqual(before);
      expect(heard).toEqual([]);
    });

    it('stores the turns that are new, and tells listeners of them alone', async () => {
      const { engine, id } = await start(target);
      const [a] = (await engine.commit(batchOf(id, 'a'))).turns;
      const heard = listen(engine);
      const docs = [{ name: 'doc', content: '1' }];
      const mixed = await engine.commit({ ...batchOf(id, 'baca'), docs });
      expect(mixed).toMatchObject({ replayed: false, docs: [{ name: 'doc' }] });
      expect(mixed.turns.map((turn) => turn.id)).toEqual([2n, 1n, 3n, 1n]);
      expect(mixed.turns[1]).toEqual(a);
      expect(mixed.turns[2]).toMatchObject({ parent: 2n, depth: 2 });
      await vi.waitFor(() => expect(heard).toHaveLength(1), PATIENCE);
      expect(heard[0]?.turns.map((turn) => turn.id)).toEqual([2n, 3n]);
    });

    it('takes a key that stands in a batch twice for one turn', async () => {
      const { engine, id } = await start(target);
      const { turns } = await engine.commit(batchOf(id, 'aab'));
      expect(turns.map((turn) => turn.id)).toEqual([1n, 1n, 2n]);
      const [x, y] = ['x', 'y'].map((content) => turnOf(id, content, { key: 'twice' }));
      const others = { blobs: [x, y].flatMap((one) => one?.blob ?? []) };
      await failure(
        engine.commit({ ...others, turns: [x, y].flatMap((one) => one?.turn ?? []) }),
        'IDEMPOTENCY_CONFLICT',
      );
      expect(await engine.getHead(id)).toMatchObject({ head: 2n });
    });

    it('refuses a known key with another turn, wherever it stands', async () => {
      const { engine, id } = await start(target);
      await engine.commit(batchOf(id, 'a'));
      await engine.commit(keyed(id, 'two', 'x'));
      const before = await readAll(engine);
      const other = turnOf(id, 'other', { key: 'a' });
      const { blobs = [], turns = [] } = batchOf(id, 'bc');
      for (const list of [
        [other.turn, ...turns],
        [...turns, other.turn],
      ]) {
        const error = await failure(
          engine.commit({ blobs: [...blobs, other.blob], turns: list }),
          'IDEMPOTENCY_CONFLICT',
        );
        expect(error.data).toEqual({ context: String(id), key: 'a', turn: '1' });
      }
      expect(await readAll(engine)).toEqual(before);
    });

    it('holds the expected head of a known turn against the next new one', async () => {
      const { engine, id } = await start(target);
      const batch = batchOf(id, 'a', { expectedHead: NO_TURN });
      await engine.commit(batch);
      expect(await engine.commit(batch)).toMatchObject({ replayed: true });
      const { blobs = [], turns = [] } = batchOf(id, 'b');
      const longer = {
        blobs: [...(batch.blobs ?? []), ...blobs],
        turns: [...(batch.turns ?? []), ...turns],
      };
      await failure(engine.commit(longer), 'HEAD_MOVED');
      expect(await engine.getHead(id)).toMatchObject({ head: 1n });
    });

    it('refuses keys for some turns alone, beside a key of the batch, and in a new context', async () => {
      const { engine, id } = await start(target);
      const { blobs = [], turns = [] } = batchOf(id, 'a');
      const plain = turnOf(id, 'plain');
      const idempotency = { context: id, key: 'k' };
      const wrong: Batch[] = [
        { blobs: [...blobs, plain.blob], turns: [...turns, plain.turn] },
        { idempotency, blobs, turns },
        {
          contexts: [{ do: 'create' }],
          ...appendBatch({ created: 0 }, 'a', { key: 'a' }),
        },
      ];
      for (const batch of wrong) await failure(engine.commit(batch), 'INVALID');
      expect(await engine.getTurn(toTurnId(1))).toBeUndefined();
    });

    it('gives a thousand turns again', async () => {
      const { engine, id } = await start(target);
      const all = Array.from({ length: 1000 }, (_, n) => turnOf(id, `c${n}`, { key: `k${n}` }));
      const batch = { blobs: all.map(({ blob }) => blob), turns: all.map(({ turn }) => turn) };
      const first = await engine.commit(batch);
      expect(first.turns).toHaveLength(1000);
      expect(await engine.commit(batch)).toMatchObject({ replayed: true, turns: first.turns });
    });
  });
}

function keyed(context: ContextId, key: string, content: string, given: Given = {}): Batch {
  return { idempotency: { context, key }, ...appendBatch(context, content, given) };
}

async function start(target: EngineTarget): Promise<{ engine: Engine; id: ContextId }> {
  const engine = await openEngine(target);
  const { id } = await createContext(engine);
  return { engine, id };
}
