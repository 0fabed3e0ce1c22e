import * as v from 'valibot';
import { describe, expect, expectTypeOf, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createStore } from '../../store/create-store.ts';
import type { TypedStore } from '../../store/store.ts';
import { ModelEngine } from '../../testing/model-engine.ts';
import type { StandardSchema, Schemas } from './typed-contexts.ts';

const Message = z.object({ role: z.enum(['user', 'assistant']), text: z.string() });
const Call = v.object({ tool: v.string(), args: v.record(v.string(), v.unknown()) });
const SCHEMAS = {
  'chat.message': Message,
  'tool.call': Call,
  count: z.string().transform(Number),
};

async function open<S extends Schemas, Checked extends boolean = false>(
  schemas: S,
  checkReads?: Checked,
): Promise<{ store: TypedStore<S, Checked>; plain: ReturnType<typeof createStore>; id: bigint }> {
  const plain = createStore(new ModelEngine());
  onTestFinished(() => plain.close());
  const { id } = await plain.contexts.create();
  return {
    store: plain.typed(schemas, { checkReads: checkReads ?? (false as Checked) }),
    plain,
    id,
  };
}

describe('typed contexts', () => {
  it('know the payload by the type of a turn', async () => {
    const { store, id } = await open(SCHEMAS);
    await store.contexts.appendBatch(id, [
      { type: 'chat.message', payload: { role: 'user', text: 'hi' } },
      { type: 'tool.call', payload: { tool: 'ls', args: {} } },
      { type: 'note', payload: 7 },
    ]);
    const seen: string[] = [];
    for (const turn of (await store.contexts.last(id, 9)).turns) {
      if (turn.type === 'chat.message') {
        expectTypeOf(turn.payload).toEqualTypeOf<z.infer<typeof Message> | undefined>();
        seen.push(turn.payload?.text ?? '');
      } else if (turn.type === 'tool.call') {
        expectTypeOf(turn.payload).toEqualTypeOf<v.InferOutput<typeof Call> | undefined>();
        seen.push(turn.payload?.tool ?? '');
      } else if (turn.type === 'count') {
        expectTypeOf(turn.payload).toEqualTypeOf<string | undefined>();
      } else {
        expectTypeOf(turn.payload).toEqualTypeOf<unknown>();
        seen.push(String(turn.payload));
      }
    }
    expect(seen).toEqual(['hi', 'ls', '7']);
  });

  it('do not compile with a payload of another type', async () => {
    const { store, id } = await open(SCHEMAS);
    await expect(
      // @ts-expect-error: `text` is missing
      store.contexts.append(id, { type: 'chat.message', payload: { role: 'user' } }),
    ).rejects.toThrow("payload of 'chat.message' does not fit its schema: text: ");
    await expect(
      store.contexts.appendBatch(id, [
        { type: 'note', payload: 1 },
        // @ts-expect-error: `tool` is no number
        { type: 'tool.call', payload: { tool: 1, args: {} } },
      ]),
    ).rejects.toThrow("turns[1].payload of 'tool.call' does not fit its schema: tool: ");
    expect((await store.contexts.last(id, 9)).turns).toEqual([]);
  });

  it('check encoded bytes and patches, too', async () => {
    const { store, plain, id } = await open(SCHEMAS);
    const wrong = Buffer.from('{"role":"user"}');
    await expect(
      store.contexts.append(id, {
        type: 'chat.message',
        payload: wrong as never,
        encoding: 'json',
      }),
    ).rejects.toMatchObject({ code: 'INVALID', data: { what: 'payload' } });
    await expect(
      store.contexts.append(id, {
        type: 'chat.message',
        payload: Buffer.from('{') as never,
        encoding: 'json',
      }),
    ).rejects.toThrow('is not in its encoding');
    const turn = await store.contexts.append(id, {
      type: 'chat.message',
      payload: { role: 'user', text: 'a' },
    });
    await expect(store.contexts.patch(turn.id, { role: 'nobody' })).rejects.toThrow('role: ');
    await store.contexts.patch(turn.id, { role: 'assistant', text: 'b' });
    await expect(store.contexts.patch(99, {})).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect((await plain.contexts.turn(turn.id))?.payload).toEqual({ role: 'assistant', text: 'b' });
  });

  it('store the payload as given, and give what the schema makes of it when reads are checked', async () => {
    const { store, plain, id } = await open(SCHEMAS, true);
    const { id: turn } = await store.contexts.append(id, { type: 'count', payload: '42' });
    expect((await plain.contexts.turn(turn))?.payload).toBe('42');
    const read = await store.contexts.turn(turn);
    if (read?.type === 'count') expectTypeOf(read.payload).toEqualTypeOf<number | undefined>();
    expect(read).toMatchObject({ type: 'count', payload: 42, id: turn });
    expect(Buffer.from(read?.bytes ?? []).toString()).toBe('"42"');
    const page = await store.contexts.range(id, 0, 9);
    expect(JSON.parse(JSON.stringify(page))).toMatchObject({ turns: [{ payload: 42 }] });
  });

  it('refuse to read what others stored when reads are checked', async () => {
    const { store, plain, id } = await open(SCHEMAS, true);
    const bad = await plain.contexts.append(id, { type: 'chat.message', payload: { role: 7 } });
    const why = `payload of turn ${bad.id} does not fit its schema`;
    await expect(store.contexts.turn(bad.id)).rejects.toThrow(why);
    await expect(store.contexts.last(id, 1)).rejects.toThrow(why);
    const chain = store.contexts.chain(bad.id)[Symbol.asyncIterator]();
    await expect(chain.next()).rejects.toThrow(why);
    expect((await store.contexts.last(id, 1, { payload: false })).turns.length).toBe(1);
    await store.contexts.tombstone(bad.id, 'wrong');
    expect((await store.contexts.last(id, 1)).turns).toMatchObject([{ tombstone: true }]);
  });

  it('take validators that need time, and nothing that is no schema', async () => {
    const slow: StandardSchema<string> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        async validate(value) {
          return typeof value === 'string' ? { value } : { issues: [{ message: 'no text' }] };
        },
      },
    };
    const { store, plain, id } = await open({ note: slow });
    await store.contexts.append(id, { type: 'note', payload: 'a' });
    await expect(store.contexts.append(id, { type: 'note', payload: 1 as never })).rejects.toThrow(
      "payload of 'note' does not fit its schema: no text",
    );
    expect(() => plain.typed({ note: {} as never })).toThrow("of 'note' is not a Standard Schema");
  });
});
