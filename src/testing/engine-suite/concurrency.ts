import { describe, expect } from 'vitest';

import { NO_TURN, toContextId } from '../../base/brand.ts';
import type { ContextId } from '../../base/brand.ts';
import { hashBytes } from '../../base/hash.ts';
import type { Committed } from '../../engine/batch.ts';
import type { EngineTarget } from './engine-target.ts';
import {
  append,
  appendBatch,
  appendLines,
  blobOf,
  createContext,
  present,
  turnOf,
  engineCases,
} from './fixture.ts';
import { walkNaively } from './read-all.ts';

const CONTEXTS = 4;
const COMMITS = 200;

export function concurrencySuite(target: EngineTarget): void {
  const it = engineCases(target);
  describe('concurrency', () => {
    it('makes one line of parallel appends, and answers in commit order', async ({ engine }) => {
      for (let n = 0; n < CONTEXTS; n++) await createContext(engine);
      const answered: Committed[] = [];
      const sent = Array.from({ length: COMMITS }, async (_, n) => {
        const committed = await engine.commit(appendBatch(contextOf(n), `turn ${n % 50}`));
        answered.push(committed);
        return committed;
      });
      const results = await Promise.all(sent);

      expect(isRising(answered.map((committed) => committed.seq))).toBe(true);
      const ids = results.map((committed) => Number(present(committed.turns[0]).id));
      expect(ids.toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: COMMITS }, (_, n) => n + 1),
      );
      for (let n = 0; n < CONTEXTS; n++) {
        const chain = await walkNaively(engine, present(await engine.getHead(contextOf(n))).head);
        expect(chain).toHaveLength(COMMITS / CONTEXTS);
        expect(chain.every((row) => row.context === contextOf(n))).toBe(true);
        expect(chain.at(-1)).toMatchObject({ parent: NO_TURN, depth: 0 });
      }
    });

    it('keeps the order in which one caller sends', async ({ engine }) => {
      const { id } = await createContext(engine);
      const sent = Array.from({ length: 50 }, (_, n) =>
        engine.commit(appendBatch(id, `turn ${n}`)),
      );
      const ids = (await Promise.all(sent)).map((committed) =>
        Number(present(committed.turns[0]).id),
      );
      expect(ids).toEqual(Array.from({ length: 50 }, (_, n) => n + 1));
    });

    it('lets one of many win at the same expected head', async ({ engine }) => {
      const { id } = await createContext(engine);
      const batches = Array.from({ length: 10 }, (_, n) =>
        appendBatch(id, `turn ${n}`, { expectedHead: NO_TURN }),
      );
      const ended = await Promise.allSettled(batches.map((batch) => engine.commit(batch)));
      expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await engine.getHead(id)).toMatchObject({ head: 1n });
    });

    it('is not held up by a batch that fails beside it', async ({ engine }) => {
      const { id } = await createContext(engine);
      const work = Array.from({ length: 30 }, (_, n) =>
        engine.commit(
          n % 3 === 0
            ? { turns: [turnOf(id, `never put ${n}`).turn] }
            : appendBatch(id, `turn ${n}`),
        ),
      );
      const ended = await Promise.allSettled(work);
      expect(ended.map(({ status }) => status)).toEqual(
        ended.map((_, n) => (n % 3 === 0 ? 'rejected' : 'fulfilled')),
      );
      expect(await engine.getHead(id)).toMatchObject({ head: 20n, headDepth: 19 });
    });

    it('takes the same blob from many at the same time', async ({ engine }) => {
      const { bytes, hash } = blobOf('x'.repeat(300_000));
      async function* once(): AsyncGenerator<Uint8Array> {
        yield bytes;
      }
      const puts = Array.from({ length: 8 }, (_, n) =>
        n % 2 === 0
          ? engine.putBlob({ chunks: once() })
          : engine.commit({ blobs: [{ hash, bytes }] }),
      );
      await Promise.all(puts);
      expect(hashBytes(present(await engine.getBlob(hash)))).toBe(hash);
    });

    it('never shows half a batch', async ({ engine }) => {
      const { id } = await createContext(engine);
      let writing = true;
      const writes = Promise.all(
        Array.from({ length: 40 }, async (_, n) => {
          const { blob, turn } = turnOf(id, `turn ${n}`);
          const log = { do: 'append', name: 'logs/log', lines: ['1', '2', '3', '4', '5'] } as const;
          await engine.commit({ blobs: [blob], turns: [turn, turn], logs: [log] });
        }),
      ).finally(() => {
        writing = false;
      });
      for (let reads = 0; writing || reads === 0; reads++) {
        // In this order, the second read can only have seen more.
        const lines = (await engine.getLog('logs/log'))?.lines ?? 0;
        const { head } = present(await engine.getHead(id));
        expect(lines % 5).toBe(0);
        expect(Number(head) % 2).toBe(0);
        expect(Number(head) / 2).toBeGreaterThanOrEqual(lines / 5);
        if (head !== NO_TURN)
          expect(
            await engine.getBlob(present((await engine.getTurn(head))?.payload)),
          ).toBeDefined();
        await new Promise(setImmediate);
      }
      await writes;
      expect(await engine.getLog('logs/log')).toMatchObject({ lines: 200 });
    });

    it('shows a commit to whoever was told of it', async ({ engine }) => {
      const { id } = await createContext(engine);
      await Promise.all(
        Array.from({ length: 30 }, async (_, n) => {
          const row = await append(engine, id, `turn ${n}`);
          await appendLines(engine, `logs/log-${n}`, '1');
          expect(await engine.getTurn(row.id)).toEqual(row);
          expect(present(await engine.getHead(id)).head >= row.id).toBe(true);
          expect(await engine.readLog(`logs/log-${n}`, 0, 10)).toEqual(['1']);
        }),
      );
    });
  });
}

function contextOf(n: number): ContextId {
  return toContextId((n % CONTEXTS) + 1);
}

function isRising(numbers: readonly number[]): boolean {
  return numbers.every((number, at) => at === 0 || number > present(numbers[at - 1]));
}
