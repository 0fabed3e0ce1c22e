import { describe, expect, it, onTestFinished } from 'vitest';
import { type Codec, registerCodec } from '../../context/payloads/codecs.ts';
import type { StandardSchema } from '../../context/typed/typed-contexts.ts';
import { failure, present } from '../engine-suite/fixture.ts';
import type { ContextsTarget } from './contexts-target.ts';
import { collect, openWith } from './fixture.ts';

export function payloadsSuite(target: ContextsTarget): void {
  describe('payloads', () => {
    it('in CBOR come back as they were, and equal ones are one blob', async () => {
      const { store, contexts, id } = await openWith(target);
      const payload = { b: [1.5, -7, 2n ** 60n], a: { bytes: Uint8Array.of(1, 2) }, c: undefined };
      const first = await contexts.append(id, { type: 't', encoding: 'cbor', payload });
      const { blobs } = await store.maintain.stats();
      const { a, b, c } = payload;
      const second = await contexts.append(id, {
        type: 't',
        encoding: 'cbor',
        payload: { c, a, b },
      });
      expect(second.payloadHash).toBe(first.payloadHash);
      expect((await store.maintain.stats()).blobs).toBe(blobs);
      expect(present(await contexts.turn(first.id))).toMatchObject({ encoding: 'cbor', payload });
    });

    it('in CBOR that is none come back as bytes', async () => {
      const { contexts, id } = await openWith(target);
      const payload = Uint8Array.of(0x9b, 255, 255, 255, 255, 255, 255, 255, 255);
      const { id: turn } = await contexts.append(id, { type: 't', encoding: 'cbor', payload });
      expect(present(await contexts.turn(turn))).toMatchObject({ undecodable: true, payload });
    });

    it('of programs that share a schema are kept as bytes, by name or by number', async () => {
      const { contexts, id } = await openWith(target);
      const payload = Uint8Array.of(10, 2, 104, 105);
      for (const [given, shown] of [
        ['protobuf', 'protobuf'],
        [6, 'flatbuffers'],
        ['capnp', 'capnp'],
        [8, 'gob'],
        [4242, 4242],
      ] as const) {
        const { id: turn } = await contexts.append(id, { type: 't', encoding: given, payload });
        expect(present(await contexts.turn(turn))).toMatchObject({ encoding: shown, payload });
      }
      for (const wrong of [-1, 1.5, 2 ** 32, 'unheard-of']) {
        await failure(contexts.append(id, { type: 't', encoding: wrong, payload }), 'INVALID');
      }
      await failure(contexts.append(id, { type: 't', encoding: 'gob', payload: {} }), 'INVALID');
    });

    it('go through a codec that was registered, and equal ones are one blob', async () => {
      const { contexts, id } = await openWith(target);
      const forget = registerCodec(LINES);
      onTestFinished(forget);
      const first = await contexts.append(id, {
        type: 't',
        encoding: 'lines',
        payload: { b: 1, a: 2 },
      });
      const bytes = Buffer.from('b,1\na,2\n');
      const second = await contexts.append(id, { type: 't', encoding: 4711, payload: bytes });
      expect(second.payloadHash).toBe(first.payloadHash);
      const read = present(await contexts.turn(second.id));
      expect(read).toMatchObject({ encoding: 'lines', payload: { a: '2', b: '1' } });
      const patch = await contexts.patch(first.id, { c: 3 }, { encoding: 'lines' });
      expect(patch.encoding).toBe('lines');
      forget();
      const bare = present(await contexts.turn(second.id));
      expect(bare).toMatchObject({ encoding: 4711, payload: bare.bytes });
      expect(textOf(bare.bytes)).toBe('a,2\nb,1');
    });

    it('are checked by the schema of their type, and others are not', async () => {
      const { store, id } = await openWith(target);
      const { contexts } = store.typed({ numbers: NUMBERS });
      const turn = await contexts.append(id, { type: 'numbers', payload: [1, 2] });
      const error = await failure(
        contexts.append(id, { type: 'numbers', payload: [1, 'two'] as never }),
        'INVALID',
      );
      expect(error.message).toContain("payload of 'numbers' does not fit its schema: 1: expected");
      await failure(
        contexts.appendBatch(id, [
          { type: 'note', payload: 1 },
          { type: 'numbers', payload: 'x' as never },
        ]),
        'INVALID',
      );
      await failure(contexts.patch(turn.id, ['no']), 'INVALID');
      await contexts.append(id, { type: 'note', payload: { any: 'thing' } });
      const { turns } = await contexts.last(id, 9);
      expect(turns.map(({ payload }) => payload)).toEqual([[1, 2], { any: 'thing' }]);
    });

    it('are checked when they are read, if that was asked for', async () => {
      const { store, id } = await openWith(target);
      const bad = await store.contexts.append(id, { type: 'numbers', payload: 'x' });
      const unchecked = store.typed({ numbers: NUMBERS }).contexts;
      expect((await unchecked.turn(bad.id))?.payload).toBe('x');
      const checked = store.typed({ numbers: NUMBERS }, { checkReads: true }).contexts;
      for (const read of [
        () => checked.turn(bad.id),
        () => checked.last(id, 1),
        () => checked.range(id, 0, 1),
        () => collect(checked.chain(bad.id)),
      ]) {
        const { message } = await failure(read(), 'INVALID');
        expect(message).toContain(`payload of turn ${bad.id} does not fit its schema`);
      }
      await store.contexts.patch(bad.id, [3]);
      expect((await checked.turn(bad.id))?.payload).toEqual([3]);
    });
  });
}

/** The fields of an object as sorted lines, as a stand-in for a format that this library does not know. */
const LINES: Codec = {
  name: 'lines',
  number: 4711,
  encode: (value) =>
    Buffer.from(
      Object.entries(value as object)
        .map(String)
        .toSorted()
        .join('\n'),
    ),
  decode: (bytes) =>
    Object.fromEntries(
      textOf(bytes)
        .split('\n')
        .map((line) => line.split(',')),
    ) as unknown,
  canonicalise: (bytes) => Buffer.from(textOf(bytes).trim().split('\n').toSorted().join('\n')),
};

function textOf(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString();
}

/** A list of numbers, checked by hand. */
const NUMBERS: StandardSchema<readonly number[]> = {
  '~standard': {
    version: 1,
    vendor: 'quipu',
    validate(value) {
      const items: unknown[] = Array.isArray(value) ? value : [undefined];
      const at = items.findIndex((item) => typeof item !== 'number');
      return at === -1
        ? { value: items as number[] }
        : { issues: [{ message: 'expected a number', path: [at] }] };
    },
  },
};
