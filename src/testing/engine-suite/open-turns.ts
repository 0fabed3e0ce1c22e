import { describe, expect } from 'vitest';

import { NO_TURN, toTurnId } from '../../base/brand.ts';
import type { TurnId } from '../../base/brand.ts';
import type { QuipuError } from '../../base/errors.ts';
import { planSeal } from '../../context/streams/plan-seal.ts';
import { createContexts } from '../../context/verbs/create-contexts.ts';
import type { Engine } from '../../engine/engine.ts';
import { TurnFlag } from '../../format/turn-record.ts';
import type { EngineTarget } from './engine-target.ts';
import {
  append,
  blobOf,
  createContext,
  failure,
  openEngine,
  openTurn,
  present,
  sealTurn,
  textOf,
  writeDelta,
  engineCases,
} from './fixture.ts';

/** Writes a byte after the other, until it is refused. */
class EagerWriter {
  readonly ended: Promise<QuipuError>;
  readonly #engine: Engine;
  #acknowledged = 0;
  #isEnded = false;
  #waiting: (() => void)[] = [];

  constructor(engine: Engine, turn: TurnId) {
    this.#engine = engine;
    this.ended = failure(this.#write(turn), 'INVALID');
  }

  get acknowledged(): number {
    return this.#acknowledged;
  }

  /** The engine as one sees it over a link that is slower than the writer: three writes pass before each call. */
  slowed(): Engine {
    return new Proxy(this.#engine, {
      get: (engine, name) => {
        const value: unknown = Reflect.get(engine, name);
        if (typeof value !== 'function') return value;
        return async (...given: unknown[]): Promise<unknown> => {
          for (let writes = 0; writes < 3; writes += 1) await this.#next();
          return value.apply(engine, given) as unknown;
        };
      },
    });
  }

  async #write(turn: TurnId): Promise<void> {
    try {
      for (;;) {
        await writeDelta(this.#engine, turn, this.#acknowledged, 'x');
        this.#acknowledged += 1;
        this.#ring();
      }
    } finally {
      this.#isEnded = true;
      this.#ring();
    }
  }

  #next(): Promise<void> {
    return this.#isEnded ? Promise.resolve() : new Promise((go) => this.#waiting.push(go));
  }

  #ring(): void {
    for (const go of this.#waiting.splice(0)) go();
  }
}

export function openTurnSuite(target: EngineTarget): void {
  const it = engineCases(target);
  describe('open turns', () => {
    it('gets an id now and becomes the head when sealed', async () => {
      let now = 1000;
      const engine = await openEngine(target, { clock: () => now });
      const { id } = await createContext(engine);
      const first = await append(engine, id, 'a');
      now = 2000;
      const open = await openTurn(engine, id);
      const row = { id: 2n, parent: 1n, depth: 1, context: id, createdAt: 2000 };
      expect(open).toMatchObject({ ...row, payload: undefined, flags: TurnFlag.OPEN });
      expect(await engine.getHead(id)).toMatchObject({
        head: first.id,
        openTurn: 2n,
        updatedAt: 1000,
      });
      expect(await engine.getTurn(open.id)).toMatchObject({
        ...row,
        payload: undefined,
        flags: TurnFlag.OPEN,
      });
      expect(await engine.getOpenTurn(open.id)).toMatchObject({ row, bytes: { length: 0 } });

      now = 3000;
      const sealed = await sealTurn(engine, open.id, 'done');
      expect(sealed).toMatchObject({ ...row, payload: blobOf('done').hash, size: 4, flags: 0 });
      expect(await engine.getTurn(open.id)).toEqual(sealed);
      expect(await engine.getOpenTurn(open.id)).toBeUndefined();
      const head = { head: 2n, headDepth: 1, openTurn: NO_TURN, updatedAt: 3000 };
      expect(await engine.getHead(id)).toMatchObject(head);
      expect((await append(engine, id, 'b')).parent).toBe(2n);
    });

    it('locks its context, and no other, until it is sealed', async ({ engine }) => {
      const [{ id }, other] = [await createContext(engine), await createContext(engine)];
      const open = await openTurn(engine, id);
      for (const work of [append(engine, id, 'a'), openTurn(engine, id)]) {
        expect((await failure(work, 'LOCKED')).data).toEqual({ what: 'context', owner: '1' });
      }
      await append(engine, other.id, 'elsewhere');
      await openTurn(engine, other.id);
      await sealTurn(engine, open.id, 'done');
      await append(engine, id, 'b');
    });

    it('takes a parent and an expected head as an append does', async ({ engine }) => {
      const { id } = await createContext(engine);
      const first = await append(engine, id, 'a');
      await append(engine, id, 'b');
      const about = { context: id, type: 't', version: 1, encoding: 3 };
      await failure(engine.commit({ opens: [{ ...about, expectedHead: first.id }] }), 'HEAD_MOVED');
      await failure(engine.commit({ opens: [{ ...about, parent: toTurnId(9) }] }), 'NOT_FOUND');
      const open = await openTurn(engine, id, first.id);
      expect(open).toMatchObject({
        id: 3n,
        parent: 1n,
        flags: TurnFlag.OPEN | TurnFlag.PARENT_GIVEN,
      });
      expect(await sealTurn(engine, open.id, 'c')).toMatchObject({ flags: TurnFlag.PARENT_GIVEN });
      expect(await engine.getHead(id)).toMatchObject({ head: 3n, headDepth: 1 });
    });

    it("is nobody's parent while it is open", async ({ engine }) => {
      const [{ id }, other] = [await createContext(engine), await createContext(engine)];
      const open = await openTurn(engine, id);
      const error = await failure(append(engine, other.id, 'a', { parent: open.id }), 'NOT_FOUND');
      expect(error.data).toEqual({ what: 'turn', id: '1' });
      await failure(openTurn(engine, other.id, open.id), 'NOT_FOUND');
    });

    it('is no open turn when unknown or never opened', async ({ engine }) => {
      const { id } = await createContext(engine);
      const row = await append(engine, id, 'a');
      expect(await engine.getOpenTurn(row.id)).toBeUndefined();
      expect(await engine.getOpenTurn(toTurnId(9))).toBeUndefined();
    });

    async function openWith(...texts: string[]) {
      const engine = await openEngine(target);
      const { id } = await createContext(engine);
      const open = await openTurn(engine, id);
      let offset = 0;
      for (const text of texts) {
        await writeDelta(engine, open.id, offset, text);
        offset += text.length;
      }
      const read = async (): Promise<string | undefined> =>
        textOf((await engine.getOpenTurn(open.id))?.bytes);
      return { engine, turn: open.id, read };
    }

    it('adds bytes at the end', async () => {
      const { engine, turn, read } = await openWith('one ', 'two ', '', 'three');
      expect(await read()).toBe('one two three');
      present(await engine.getOpenTurn(turn)).bytes.fill(0);
      expect(await read()).toBe('one two three');
    });

    it('takes several in one batch, each after the one before', async () => {
      const { engine, turn, read } = await openWith('ab');
      const bytes = new TextEncoder().encode('cd');
      await engine.commit({
        deltas: [
          { turn, offset: 2, bytes },
          { turn, offset: 4, bytes },
        ],
      });
      expect(await read()).toBe('abcdcd');
    });

    it('takes a repeated delta for a retry', async () => {
      const { engine, turn, read } = await openWith('abc', 'def');
      await writeDelta(engine, turn, 3, 'def');
      await writeDelta(engine, turn, 0, 'abc');
      await writeDelta(engine, turn, 1, 'bcd');
      expect(await read()).toBe('abcdef');
      await writeDelta(engine, turn, 4, 'efgh');
      expect(await read()).toBe('abcdefgh');
    });

    it('refuses other bytes in the same place, and gaps, and says the length', async () => {
      const { engine, turn, read } = await openWith('abcde');
      for (const [offset, text] of [
        [0, 'x'],
        [3, 'dX'],
        [3, 'dXf'],
        [4, 'Xf'],
        [6, 'g'],
      ] as const) {
        const error = await failure(writeDelta(engine, turn, offset, text), 'INVALID');
        expect(error.message).toMatch(/\b5\b/);
      }
      expect(await read()).toBe('abcde');
    });

    it('refuses deltas for turns that are sealed or missing', async () => {
      const { engine, turn } = await openWith('abc');
      await sealTurn(engine, turn, 'abc');
      await failure(writeDelta(engine, turn, 3, 'd'), 'INVALID');
      const error = await failure(writeDelta(engine, toTurnId(9), 0, 'd'), 'NOT_FOUND');
      expect(error.data).toEqual({ what: 'turn', id: '9' });
    });

    it.each([
      ['complete', 0],
      ['aborted', TurnFlag.ABORTED],
      ['interrupted', TurnFlag.INTERRUPTED],
    ] as const)('marks a turn that ends %s', async (outcome, flags) => {
      const engine = await openEngine(target);
      const { id } = await createContext(engine);
      const open = await openTurn(engine, id);
      expect(await sealTurn(engine, open.id, 'as far as it got', outcome)).toMatchObject({
        flags,
        size: 16,
      });
      expect(await engine.getHead(id)).toMatchObject({ head: open.id, openTurn: NO_TURN });
    });

    it('gives the same row for the same seal again, and refuses another', async ({ engine }) => {
      const { id } = await createContext(engine);
      const open = await openTurn(engine, id);
      const sealed = await sealTurn(engine, open.id, 'done', 'aborted');
      const later = await append(engine, id, 'later');
      expect(await sealTurn(engine, open.id, 'done', 'aborted')).toEqual(sealed);
      expect(await engine.getHead(id)).toMatchObject({ head: later.id });
      await failure(sealTurn(engine, open.id, 'done', 'complete'), 'INVALID');
      await failure(sealTurn(engine, open.id, 'other', 'aborted'), 'INVALID');
      await failure(sealTurn(engine, later.id, 'other'), 'INVALID');
      expect(await engine.getTurn(open.id)).toEqual(sealed);
    });

    it('is refused when the turn has grown past what it is expected to hold', async ({
      engine,
    }) => {
      const { id } = await createContext(engine);
      const open = await openTurn(engine, id);
      await writeDelta(engine, open.id, 0, 'so far');
      const blob = blobOf('so');
      const seal = { turn: open.id, outcome: 'interrupted', payload: blob.hash, size: 2 } as const;
      const sealing = engine.commit({ blobs: [blob], seals: [{ ...seal, expectedBytes: 2 }] });
      const { data } = await failure(sealing, 'HEAD_MOVED');
      expect(data).toEqual({ context: String(open.id), expected: '2', head: '6' });
      expect(textOf((await engine.getOpenTurn(open.id))?.bytes)).toBe('so far');
      const { sealed } = await engine.commit({
        blobs: [blob],
        seals: [{ ...seal, expectedBytes: 6 }],
      });
      expect(sealed).toMatchObject([{ id: open.id, size: 2 }]);
    });

    it('ends with all that it holds when no payload is named', async ({ engine }) => {
      const { id } = await createContext(engine);
      const open = await openTurn(engine, id);
      await writeDelta(engine, open.id, 0, 'so ');
      const bytes = Buffer.from('far');
      // A seal sees the deltas of its own batch.
      const { sealed } = await engine.commit({
        deltas: [{ turn: open.id, offset: 3, bytes }],
        seals: [{ turn: open.id, outcome: 'aborted', expectedBytes: 6 }],
      });
      const { hash } = blobOf('so far');
      const ended = { id: open.id, payload: hash, size: 6, flags: TurnFlag.ABORTED };
      expect(sealed).toMatchObject([ended]);
      expect(await engine.getTurn(open.id)).toMatchObject(ended);
      expect(textOf(await engine.getBlob(hash))).toBe('so far');
      expect(await engine.getHead(id)).toMatchObject({ head: open.id, openTurn: NO_TURN });
      const again = { turn: open.id, outcome: 'aborted' } as const;
      await failure(engine.commit({ seals: [again] }), 'INVALID');
      const missing = { ...again, turn: toTurnId(9) };
      await failure(engine.commit({ seals: [missing] }), 'NOT_FOUND');
    });

    it('ends with a long text, and one at a time', async ({ engine }) => {
      const [one, two] = [await createContext(engine), await createContext(engine)];
      const long = await openTurn(engine, one.id);
      const empty = await openTurn(engine, two.id);
      const text = Array.from({ length: 120_000 }, (_, n) => n).join(' ');
      await writeDelta(engine, long.id, 0, text);
      const seals = [long, empty].map(({ id }) => ({ turn: id, outcome: 'interrupted' }) as const);
      await failure(engine.commit({ seals }), 'INVALID');
      await failure(
        engine.commit({ seals: [{ ...present(seals[0]), expectedBytes: 5 }] }),
        'HEAD_MOVED',
      );
      // Sent together, they still come one after the other.
      await Promise.all(seals.map((seal) => engine.commit({ seals: [seal] })));
      const { payload, size } = present(await engine.getTurn(long.id));
      expect(size).toBe(text.length);
      expect(textOf(await engine.getBlob(present(payload)))).toBe(text);
      expect(await engine.getTurn(empty.id)).toMatchObject({ size: 0, payload: blobOf('').hash });
    });

    it('ends over a slow link while its writer never pauses, and loses no acknowledged byte', async ({
      engine,
    }) => {
      const { id } = await createContext(engine);
      const { id: turn } = await openTurn(engine, id);
      const writer = new EagerWriter(engine, turn);
      const slow = writer.slowed();
      // Whoever reads the turn first and seals what was read comes too late, each time.
      for (let tries = 0; tries < 3; tries += 1) {
        const { bytes } = present(await slow.getOpenTurn(turn));
        await failure(slow.commit(planSeal(turn, bytes)), 'HEAD_MOVED');
      }
      const sealed = await createContexts(slow).abort(turn, 'stopped');
      expect((await writer.ended).message).toMatch(/comes too late: turn \d+ has ended/);
      expect(sealed).toMatchObject({ outcome: 'aborted', reason: 'stopped' });
      expect(sealed.payload).toBe('x'.repeat(writer.acknowledged));
    });

    it('says what is missing', async ({ engine }) => {
      const { id } = await createContext(engine);
      const open = await openTurn(engine, id);
      const noTurn = await failure(sealTurn(engine, toTurnId(9), 'done'), 'NOT_FOUND');
      expect(noTurn.data).toEqual({ what: 'turn', id: '9' });
      const { hash } = blobOf('never put');
      const seal = { turn: open.id, outcome: 'complete', payload: hash, size: 9 } as const;
      expect((await failure(engine.commit({ seals: [seal] }), 'NOT_FOUND')).data).toEqual({
        what: 'blob',
        id: hash,
      });
      expect(await engine.getOpenTurn(open.id)).toBeDefined();
    });
  });
}
