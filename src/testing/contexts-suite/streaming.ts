import { describe, expect, it } from 'vitest';
import { NO_TURN, toTurnId } from '../../base/brand.ts';
import type { Contexts } from '../../context/contexts.ts';
import { failure, failures, present } from '../engine-suite/fixture.ts';
import { PAYLOAD_BYTES_MAX } from './contexts-target.ts';
import type { ContextsTarget } from './contexts-target.ts';
import { collect, openWith, payloadsOf } from './fixture.ts';

const HEADER = { type: 'chat.delta', version: 2 };

export function streamingSuite(target: ContextsTarget): void {
  describe('streaming', () => {
    it('writes, seals and becomes the head', async () => {
      const { contexts, id, ids } = await openWith(target, 'a');
      const open = await contexts.open(id, HEADER);
      expect(await contexts.get(id)).toMatchObject({ head: ids[0], openTurn: open.id });
      await open.write('one ');
      await open.flush();
      expect(open.acknowledgedBytes).toBe(4);
      const soFar = present(await contexts.turn(open.id));
      expect(soFar).toMatchObject({ state: 'open', flags: 1, size: 4, payload: 'one ', depth: 1 });
      expect(soFar.payloadHash).toBeUndefined();
      expect(await contexts.turn(open.id, { payload: false })).toMatchObject({ size: 4 });
      expect(payloadsOf((await contexts.last(id, 9)).turns)).toEqual(['a']);
      await open.write(Buffer.from('two'));
      const sealed = await open.seal();
      expect(sealed).toMatchObject({
        id: open.id,
        state: 'sealed',
        payload: 'one two',
        version: 2,
      });
      expect((await contexts.turn(open.id))?.toJSON()).toEqual(sealed.toJSON());
      expect(await contexts.get(id)).toMatchObject({ head: open.id, openTurn: NO_TURN });
      expect(await open.seal()).toMatchObject({ id: open.id });
    });

    it('keeps the order of writes that nobody awaits', async () => {
      const { contexts, id } = await openWith(target);
      const open = await contexts.open(id, HEADER);
      const pieces = Array.from({ length: 500 }, (_, n) => `${n},`);
      const writes = pieces.map((piece) => open.write(piece));
      const sealed = await open.seal();
      await Promise.all(writes);
      expect(sealed.payload).toBe(pieces.join(''));
      expect(open.acknowledgedBytes).toBe(pieces.join('').length);
    });

    it('does not hold up a writer that awaits each piece', async () => {
      const { contexts, id } = await openWith(target);
      const open = await contexts.open(id, HEADER);
      const began = performance.now();
      for (let n = 0; n < 1000; n += 1) await open.write('token ');
      await open.flush();
      expect(open.acknowledgedBytes).toBe(6000);
      // One commit for each piece, 10 ms apart, would take 10 s.
      expect(performance.now() - began).toBeLessThan(5000);
      expect((await open.seal()).size).toBe(6000);
    });

    it('streams bytes, and nothing at all', async () => {
      const { contexts, id } = await openWith(target);
      const bytes = await contexts.open(id, { type: 't', encoding: 'bytes' });
      await bytes.write(new Uint8Array([0xff, 0]));
      expect(await bytes.seal()).toMatchObject({
        encoding: 'bytes',
        payload: new Uint8Array([0xff, 0]),
      });
      const empty = await contexts.open(id, HEADER, { parent: bytes.id, expectedHead: bytes.id });
      expect(await empty.seal()).toMatchObject({ payload: '', size: 0, parent: bytes.id });
    });

    it('keeps characters that were cut in the middle', async () => {
      const { contexts, id } = await openWith(target);
      const open = await contexts.open(id, HEADER);
      const [high = '', low = ''] = '🪢'.split('');
      await open.write(`a${high}`);
      await open.write(`${low}b`);
      const bytes = Buffer.from('ü');
      await open.write(bytes.subarray(0, 1));
      await open.write(bytes.subarray(1));
      expect((await open.seal()).payload).toBe('a🪢bü');
    });

    it('refuses to seal text that is not UTF-8, and stays open', async () => {
      const { contexts, id } = await openWith(target);
      const open = await contexts.open(id, HEADER);
      await open.write(new Uint8Array([0xc3]));
      await failure(open.seal(), 'INVALID');
      await open.write(new Uint8Array([0xbc]));
      expect((await open.seal()).payload).toBe('ü');
    });

    it('refuses half a character', async () => {
      const { contexts, id } = await openWith(target);
      const open = await contexts.open(id, HEADER);
      await failure(open.write('\uDC00x'), 'INVALID');
      await open.write('\uD83E');
      await failure(open.seal(), 'INVALID');
      await failure(open.write(Buffer.from('x')), 'INVALID');
      await open.write('\uDEA2');
      expect((await open.seal()).payload).toBe('🪢');
    });

    it('keeps the text and the reason of an abort', async () => {
      const { contexts, id } = await openWith(target);
      const open = await contexts.open(id, HEADER);
      void open.write('so far');
      const turn = await open.abort('the user said stop');
      const aborted = {
        outcome: 'aborted',
        payload: 'so far',
        flags: 2,
        reason: 'the user said stop',
      };
      expect(turn).toMatchObject({ ...aborted, state: 'sealed' });
      expect((await contexts.turn(open.id))?.toJSON()).toEqual(turn.toJSON());
      expect((await contexts.last(id, 1)).turns[0]).toMatchObject(aborted);
      expect(JSON.parse(JSON.stringify(turn))).toMatchObject(aborted);
    });

    it('ends once', async () => {
      const { contexts, id } = await openWith(target);
      const open = await contexts.open(id, HEADER);
      const sealing = open.seal();
      await failure(open.abort('late'), 'INVALID');
      await failure(open.write('late'), 'INVALID');
      await sealing;
      await failure(open.abort('late'), 'INVALID');
      await failure(open.write('late'), 'INVALID');
      expect((await contexts.turn(open.id))?.outcome).toBeUndefined();
    });

    it('lets one turn be open in a context', async () => {
      const { contexts, id } = await openWith(target, 'a');
      const open = await contexts.open(id, HEADER);
      const owner = String(open.id);
      const works = [contexts.append(id, { type: 't', payload: 1 }), contexts.open(id, HEADER)];
      for (const { data } of await failures(works, 'LOCKED')) expect(data).toMatchObject({ owner });
      await open.seal();
      await contexts.append(id, { type: 't', payload: 1 });
    });

    it('is no part of a tree until sealed', async () => {
      const { contexts, id, ids } = await openWith(target, 'a');
      const open = await contexts.open(id, HEADER);
      await failure(collect(contexts.chain(open.id)), 'INVALID');
      await failure(contexts.diff(open.id, present(ids[0])), 'INVALID');
      await failure(contexts.fork(open.id), 'NOT_FOUND');
    });

    it('bounds the payload', async () => {
      const { contexts, id } = await openWith(target);
      const open = await contexts.open(id, { type: 't', encoding: 'bytes' });
      const filled = open.write(new Uint8Array(PAYLOAD_BYTES_MAX));
      const error = await failure(open.write(new Uint8Array(1)), 'TOO_LARGE');
      expect(error.data).toMatchObject({ what: 'payload', limit: PAYLOAD_BYTES_MAX });
      await filled;
      expect((await open.seal()).size).toBe(PAYLOAD_BYTES_MAX);
    });

    it('goes on with a turn that is open already', async () => {
      const { contexts, id, ids } = await openWith(target, 'a');
      const open = await contexts.open(id, HEADER);
      await open.write('one ');
      await open.flush();
      const again = await contexts.resume(open.id);
      expect(again.acknowledgedBytes).toBe(4);
      await again.write('two');
      await again.flush();
      await open.write('lost its place');
      await failure(open.flush(), 'INVALID');
      await failure(open.write('more'), 'INVALID');
      await failure(open.seal(), 'INVALID');
      expect((await again.seal()).payload).toBe('one two');
      await failure(contexts.resume(present(ids[0])), 'INVALID');
      await failure(contexts.resume(toTurnId(99)), 'NOT_FOUND');
    });

    it('sends what was written before the store closes', async () => {
      const { store, contexts, id } = await openWith(target);
      const open = await contexts.open(id, HEADER);
      const writes = ['a', 'b', 'c'].map((piece) => open.write(piece));
      await store.close();
      await Promise.all(writes);
      expect(open.acknowledgedBytes).toBe(3);
      await failure(open.write('d'), 'CLOSED');
      await failure(open.seal(), 'CLOSED');
      await expectText(target, store, (again) => again.turn(open.id));
    });
  });
}

/** Expects that acknowledged text is there after reopening, still open or marked as interrupted. */
async function expectText(
  target: ContextsTarget,
  store: Awaited<ReturnType<ContextsTarget['open']>>,
  read: (contexts: Contexts) => ReturnType<Contexts['turn']>,
): Promise<void> {
  if (target.reopen === undefined) return;
  await using again = await target.reopen(store);
  expect((await read(again.contexts))?.payload).toBe('abc');
}
