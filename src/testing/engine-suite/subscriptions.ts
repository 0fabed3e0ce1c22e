import { describe, expect, vi } from 'vitest';

import { NO_TURN, toContextId } from '../../base/brand.ts';
import type { TurnRow } from '../../engine/rows.ts';
import type { EngineTarget } from './engine-target.ts';
import {
  append,
  appendAll,
  appendBatch,
  appendLines,
  createContext,
  listen,
  only,
  openTurn,
  patchTurn,
  present,
  putDoc,
  sealTurn,
  textOf,
  writeDelta,
  engineCases,
} from './fixture.ts';
import { PATIENCE } from '../patience.ts';

export function subscriptionSuite(target: EngineTarget): void {
  const it = engineCases(target);
  describe('subscriptions', () => {
    it('tells what was committed and where heads are now', async ({ engine }) => {
      const { id } = await createContext(engine);
      const heard = listen(engine);
      const committed = await engine.commit(appendBatch(id, 'a'));
      await vi.waitFor(() => expect(heard).toHaveLength(1), PATIENCE);
      expect(heard[0]).toMatchObject({
        ...committed,
        removedContexts: [],
        deltas: [],
        removedLogs: [],
        removedDocs: [],
      });
      expect(only(present(heard[0]).heads)).toMatchObject({
        id,
        head: 1n,
        headDepth: 0,
        openTurn: NO_TURN,
      });
    });

    it('tells of contexts created, described and removed', async ({ engine }) => {
      const heard = listen(engine);
      const { id } = await createContext(engine);
      await engine.commit({ contexts: [{ do: 'describe', context: id, meta: { title: 'x' } }] });
      await engine.commit({ contexts: [{ do: 'remove', context: id }] });
      await vi.waitFor(() => expect(heard).toHaveLength(3), PATIENCE);
      expect(heard).toMatchObject([
        { contexts: [{ id }], heads: [{ id }], removedContexts: [] },
        { contexts: [{ id, meta: { title: 'x' } }], heads: [{ id }], removedContexts: [] },
        { contexts: [], heads: [], removedContexts: [id] },
      ]);
    });

    it('tells of a turn from its opening to its seal', async ({ engine }) => {
      const { id } = await createContext(engine);
      const heard = listen(engine);
      const open = await openTurn(engine, id);
      await writeDelta(engine, open.id, 0, 'ab');
      await writeDelta(engine, open.id, 1, 'bcd');
      const sealed = await sealTurn(engine, open.id, 'abcd');
      await vi.waitFor(() => expect(heard).toHaveLength(4), PATIENCE);
      expect(heard).toMatchObject([
        { opened: [{ id: open.id }], heads: [{ id, head: NO_TURN, openTurn: open.id }] },
        { deltas: [{ turn: open.id, offset: 0 }], heads: [] },
        { deltas: [{ turn: open.id }], heads: [] },
        { sealed: [sealed], heads: [{ id, head: open.id, openTurn: NO_TURN }] },
      ]);
      // A listener that puts each delta at its offset has the text, also when a retry overlapped.
      const text = new Uint8Array(4);
      for (const { offset, bytes } of heard.flatMap((change) => change.deltas))
        text.set(bytes, offset);
      expect(textOf(text)).toBe('abcd');
    });

    it('tells of patches, logs and documents', async ({ engine }) => {
      const { id } = await createContext(engine);
      const [turn] = await appendAll(engine, id, ['a']);
      const heard = listen(engine);
      const patch = await patchTurn(engine, present(turn).id, 'b');
      await appendLines(engine, 'logs/log', '1', '2');
      await putDoc(engine, 'doc', '1');
      await engine.commit({
        logs: [{ do: 'remove', name: 'logs/log' }],
        docs: [{ name: 'doc', content: undefined }],
      });
      await vi.waitFor(() => expect(heard).toHaveLength(4), PATIENCE);
      expect(heard).toMatchObject([
        { patches: [patch] },
        { logs: [{ name: 'logs/log', lines: 2 }] },
        { docs: [{ name: 'doc', version: 1, content: '1' }] },
        { logs: [], docs: [], removedLogs: ['logs/log'], removedDocs: ['doc'] },
      ]);
    });

    it('calls every listener in commit order', async ({ engine }) => {
      for (let n = 0; n < 3; n++) await createContext(engine);
      const [heard, alsoHeard] = [listen(engine), listen(engine)];
      const sent = Array.from({ length: 60 }, (_, n) =>
        engine.commit(appendBatch(toContextId((n % 3) + 1), `turn ${n}`)),
      );
      const seqs = (await Promise.all(sent)).map((committed) => committed.seq);
      await vi.waitFor(() => expect(alsoHeard).toHaveLength(60), PATIENCE);
      expect(heard.map((change) => change.seq)).toEqual(seqs.toSorted((a, b) => a - b));
      expect(alsoHeard).toEqual(heard);
    });

    it('can read what it hears of', async ({ engine }) => {
      const { id } = await createContext(engine);
      const reads: Promise<TurnRow | undefined>[] = [];
      engine.subscribe((change) =>
        reads.push(...change.turns.map((turn) => engine.getTurn(turn.id))),
      );
      const rows = await Promise.all(['a', 'b', 'c'].map((content) => append(engine, id, content)));
      await vi.waitFor(() => expect(reads).toHaveLength(3), PATIENCE);
      expect(await Promise.all(reads)).toEqual(rows);
    });

    it('hears nothing from before it began or after it ended', async ({ engine }) => {
      const { id } = await createContext(engine);
      const heard: bigint[] = [];
      const end = engine.subscribe((change) => heard.push(...change.turns.map((turn) => turn.id)));
      await append(engine, id, 'a');
      await vi.waitFor(() => expect(heard).toEqual([1n]), PATIENCE);
      end();
      end();
      const others = listen(engine);
      await append(engine, id, 'b');
      await vi.waitFor(() => expect(others).toHaveLength(1), PATIENCE);
      expect(heard).toEqual([1n]);
    });
  });
}
