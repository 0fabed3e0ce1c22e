import { expect, it } from 'vitest';
import { contextJson } from '../../src/server/http/routes/contexts.ts';
import { turnJson } from '../../src/server/http/routes/turns.ts';
import { json, serveHttp } from './http-rig.ts';

const note = (n: number): object => ({ type: 'note', payload: { n } });

it('gives the whole chain up to a turn, whatever context it is in', async () => {
  const { get, send } = await serveHttp();
  await json(send('POST', '/v1/contexts'), 201);
  const turns = Array.from({ length: 600 }, (_, n) => note(n + 1));
  await json(send('POST', '/v1/contexts/1/turns', { turns }), 201);
  await json(send('POST', '/v1/turns/500/fork'), 201);
  await json(send('POST', '/v1/contexts/2/turns', note(601)), 201);
  expect((await send('DELETE', '/v1/contexts/1')).status).toBe(204);

  const response = await get('/v1/turns/601/chain');
  expect(response.headers.get('content-type')).toBe('application/x-ndjson');
  const lines = (await response.text()).trimEnd().split('\n');
  const chain = lines.map((line) => turnJson.parse(JSON.parse(line)) as { id: string });
  const ids = Array.from({ length: 500 }, (_, at) => String(at + 1));
  expect(chain.map(({ id }) => id)).toEqual([...ids, '601']);
  expect(chain.at(-1)).toMatchObject({ depth: 500, payload: { n: 601 } });
  const bare = await (await get('/v1/turns/2/chain?payload=false')).text();
  expect(bare.trimEnd().split('\n')).toHaveLength(2);
  expect(bare).not.toContain('payload"');
  await json(get('/v1/turns/999/chain'), 404);
});

it('shows the flags of a head', async () => {
  const { get, send } = await serveHttp();
  await json(send('POST', '/v1/contexts'), 201);
  await json(send('POST', '/v1/contexts/1/turns', note(1)), 201);
  await json(send('POST', '/v1/turns/1/fork'), 201);
  expect(await json(get('/v1/contexts/1'))).toMatchObject({ flags: 0 });
  expect(await json(get('/v1/contexts/2'))).toMatchObject({ flags: 4 });
  await json(send('POST', '/v1/contexts/2/open', { type: 'note' }), 201);
  const seen = await json(get('/v1/contexts/2'));
  expect(seen).toMatchObject({ flags: 6 });
  expect(contextJson.parse(seen)).toEqual(seen);
});
