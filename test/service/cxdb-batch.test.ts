import { expect, it } from 'vitest';
import { json, serveHttp } from './http-rig.ts';
import type { HttpRig } from './http-rig.ts';

// Batches of cxdb, under either name: `turns` or `items`.

type Fields = Record<string, unknown>;

const serve = (): Promise<HttpRig> => serveHttp({ words: 'cxdb' });

async function create(rig: HttpRig): Promise<string> {
  return (await json<{ context_id: string }>(rig.send('POST', '/v1/contexts'), 201)).context_id;
}

const note = (text: string, more: Fields = {}): Fields => ({
  type_id: 'note',
  type_version: 1,
  data: { text },
  ...more,
});
interface Batch {
  readonly turns: readonly { turn_id: string; parent_turn_id: string; depth: number }[];
  readonly partial: boolean;
}

it('a batch is appended as a chain, under either name', async () => {
  const rig = await serve();
  const id = await create(rig);
  const at = `/v1/contexts/${id}/append-batch`;
  const first = await json<Batch>(rig.send('POST', at, { turns: [note('a'), note('b')] }), 201);
  expect(first).toMatchObject({
    context_id: id,
    partial: false,
    turns: [
      { turn_id: '1', parent_turn_id: '0', depth: 0 },
      { parent_turn_id: '1', depth: 1 },
    ],
  });
  // 0 is the head; another turn begins a branch.
  const items = [note('c', { parent_turn_id: '0' }), note('d', { parent_turn_id: 1 }), note('e')];
  const { turns } = await json<Batch>(rig.send('POST', at, { items }), 201);
  expect(turns.map((turn) => turn.parent_turn_id)).toEqual(['2', '1', '4']);
});

it('a batch says which turn was refused, and stores nothing, or exactly what it says', async () => {
  const rig = await serve();
  const id = await create(rig);
  const at = `/v1/contexts/${id}/append-batch`;
  const turns = (): Promise<number> => rig.store.maintain.stats().then((stats) => stats.turns);
  for (const wrong of [
    { type_version: 1, data: {} },
    { type_id: 'note' },
    'text',
    note('x', { data: undefined }),
  ]) {
    expect(await json(rig.send('POST', at, { turns: [note('a'), wrong] }), 422)).toMatchObject({
      context_id: id,
      turns: [],
      partial: false,
      failed_index: 1,
      error: { code: 422, message: expect.any(String) as string },
    });
  }
  expect(await turns()).toBe(0);
  expect(
    await json(
      rig.send('POST', at, { turns: [note('a'), note('b', { parent_turn_id: '99' })] }),
      409,
    ),
  ).toMatchObject({
    turns: [{ turn_id: '1' }],
    partial: true,
    failed_index: 1,
    error: { code: 409 },
  });
  expect(await turns()).toBe(1);
  for (const body of [{}, { turns: [] }, { turns: Array.from({ length: 257 }, () => note('x')) }]) {
    await json(rig.send('POST', at, body), 422);
  }
  await json(rig.send('POST', '/v1/contexts/99/append-batch', { turns: [note('a')] }), 404);
  expect(await turns()).toBe(1);
});
