import { expect, it } from 'vitest';
import { CliRig } from '../cli/rig.ts';
import { json, serveHttp } from '../service/http-rig.ts';

/** A thousand arrays of a million each, in 5,000 bytes. */
const CLAIMS = Buffer.from('dd000f4240'.repeat(1000), 'hex');
const NESTED = Buffer.alloc(1 << 20, 0x91);
const DEEP_JSON = Buffer.from('['.repeat(1001) + ']'.repeat(1001));

interface Page {
  readonly turns: readonly { readonly payload: unknown; readonly undecodable?: true }[];
}

it('does not end a server or whoever reads from it', async () => {
  const { send, url, get } = await serveHttp();
  await json(send('POST', '/v1/contexts', {}), 201);
  const query = '?type=hostile&encoding=msgpack';
  const headers = { 'content-type': 'application/octet-stream' };
  for (const body of [CLAIMS, NESTED]) {
    const sent = fetch(`${url}/v1/contexts/1/turns${query}`, { method: 'POST', headers, body });
    expect(await json(sent, 201)).toMatchObject({ undecodable: true });
  }
  const { turns } = await json<Page>(get('/v1/contexts/1/turns'));
  expect(turns).toMatchObject([
    { undecodable: true, payload: { base64: CLAIMS.toString('base64') } },
    { undecodable: true, payload: { base64: NESTED.toString('base64') } },
  ]);
});

it('is refused as JSON, where what it is can be said at once', async () => {
  const { send, url } = await serveHttp();
  await json(send('POST', '/v1/contexts', {}), 201);
  const headers = { 'content-type': 'application/octet-stream' };
  const sent = fetch(`${url}/v1/contexts/1/turns?type=hostile&encoding=json`, {
    method: 'POST',
    headers,
    body: DEEP_JSON,
  });
  expect(await json(sent, 422)).toMatchObject({
    error: { code: 'INVALID', message: expect.stringContaining('more than 1000 levels') as string },
  });
});

it('is shown by a command, and goes from an export into another context', async () => {
  using rig = new CliRig();
  await rig.run('init');
  await rig.run('context', 'create');
  await rig.run('context', 'create');
  const append = [
    'context',
    'append',
    '1',
    '--type',
    'hostile',
    '--stdin',
    '--encoding',
    'msgpack',
  ];
  expect(await rig.feed(CLAIMS, ...append)).toMatchObject({ code: 0, err: '' });
  const shown = await rig.run('context', 'export', '1');
  expect(JSON.parse(shown.out)).toMatchObject({ undecodable: true });
  expect(await rig.feed(shown.out, 'context', 'append-batch', '2')).toMatchObject({ code: 0 });
  const copy = await rig.run('context', 'turn', '2', '--json');
  expect(copy.out.includes(CLAIMS.toString('base64'))).toBe(true);
});
