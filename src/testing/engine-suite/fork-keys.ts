import { describe, expect, it } from 'vitest';

import { NO_TURN } from '../../base/brand.ts';
import type { TurnId } from '../../base/brand.ts';
import type { Batch, Committed } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { ContextMeta } from '../../engine/rows.ts';
import type { EngineTarget } from './engine-target.ts';
import { append, blobOf, createContext, failure, listen, openEngine } from './fixture.ts';
import { readAll } from './read-all.ts';

function keyed(base: TurnId, key: string, meta: ContextMeta = {}): Batch {
  const from = base === NO_TURN ? {} : { base };
  return { contexts: [{ do: 'create', ...from, meta, key }] };
}

async function start(target: EngineTarget): Promise<{ engine: Engine; turn: TurnId }> {
  const engine = await openEngine(target);
  const { id } = await createContext(engine);
  return { engine, turn: (await append(engine, id, 'shared')).id };
}

export function forkKeySuite(target: EngineTarget): void {
  describe('keys of new contexts', () => {
    it('give the first context again, as it is now, and store nothing', async () => {
      const { engine, turn } = await start(target);
      const first = await engine.commit(keyed(turn, 'k', { title: 'branch' }));
      expect(first).toMatchObject({
        replayed: false,
        contexts: [{ id: 2n, head: turn }],
        docs: [],
      });
      await append(engine, first.contexts[0]!.id, 'more');
      const meta = { title: 'renamed' };
      await engine.commit({ contexts: [{ do: 'describe', context: first.contexts[0]!.id, meta }] });
      const before = await readAll(engine);
      const heard = listen(engine);
      const again = await engine.commit(keyed(turn, 'k', { title: 'branch' }));
      expect(again).toMatchObject({ replayed: true, contexts: [{ id: 2n, headDepth: 1, meta }] });
      expect(await readAll(engine)).toEqual(before);
      expect(heard).toEqual([]);
    });

    it('are apart by turn and by every character, and empty contexts have keys, too', async () => {
      const { engine, turn } = await start(target);
      const keys = ['k', 'K', 'k ', 'ключ', '1', 'k\u0000'];
      for (const base of [NO_TURN, turn]) {
        for (const key of keys)
          expect((await engine.commit(keyed(base, key))).replayed).toBe(false);
        for (const key of keys) expect((await engine.commit(keyed(base, key))).replayed).toBe(true);
      }
      expect((await engine.tips()).context).toBe(BigInt(1 + 2 * keys.length));
    });

    it('make one context when many send them at the same time', async () => {
      const { engine, turn } = await start(target);
      const sent = Array.from({ length: 20 }, () => engine.commit(keyed(turn, 'k')));
      const results: Committed[] = await Promise.all(sent);
      expect(results.filter(({ replayed }) => !replayed)).toHaveLength(1);
      expect(new Set(results.map(({ contexts }) => contexts[0]!.id))).toEqual(new Set([2n]));
    });

    it('would make twenty without a key', async () => {
      const { engine, turn } = await start(target);
      const create: Batch = { contexts: [{ do: 'create', base: turn }] };
      await Promise.all(Array.from({ length: 20 }, () => engine.commit(create)));
      expect((await engine.tips()).context).toBe(21n);
    });

    it('live as long as their contexts', async () => {
      const { engine, turn } = await start(target);
      const first = await engine.commit(keyed(turn, 'k', { title: 'a' }));
      await engine.commit({ contexts: [{ do: 'remove', context: first.contexts[0]!.id }] });
      const next = await engine.commit(keyed(turn, 'k', { title: 'b' }));
      expect(next).toMatchObject({ replayed: false, contexts: [{ id: 3n }] });
      expect(await engine.commit(keyed(turn, 'k', { title: 'b' }))).toMatchObject({
        replayed: true,
        contexts: [{ id: 3n }],
      });
    });

    it('refuse other details', async () => {
      const { engine, turn } = await start(target);
      await engine.commit(keyed(turn, 'k', { title: 'a' }));
      const before = await readAll(engine);
      const error = await failure(
        engine.commit(keyed(turn, 'k', { title: 'b' })),
        'IDEMPOTENCY_CONFLICT',
      );
      expect(error.data).toEqual({ context: '2', key: 'k', turn: String(turn) });
      expect(await readAll(engine)).toEqual(before);
    });

    it('stand for one new context and nothing else', async () => {
      const { engine, turn } = await start(target);
      const more: Batch[] = [
        { docs: [{ name: 'd.json', content: '1' }] },
        { blobs: [blobOf('x')] },
        { contexts: [...keyed(turn, 'k').contexts!, { do: 'create' }] },
      ];
      for (const each of more) {
        await failure(engine.commit({ ...keyed(turn, 'k'), ...each }), 'INVALID');
      }
      expect(await engine.commit(keyed(turn, 'k'))).toMatchObject({ replayed: false });
    });

    it('are not used up when the turn is not there', async () => {
      const { engine } = await start(target);
      await failure(engine.commit(keyed(99n as TurnId, 'k')), 'NOT_FOUND');
      expect((await engine.tips()).context).toBe(1n);
    });
  });
}
