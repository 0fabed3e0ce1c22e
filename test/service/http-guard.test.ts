import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it } from 'vitest';
import type { Access, Scope } from '../../src/server/access/access.ts';
import { projectPath } from '../support/project.ts';
import { undisturbed } from '../support/undisturbed.ts';
import { json, serveHttp } from './http-rig.ts';

/** A request as it is written, with nothing normalised on its way. */
function raw(
  port: number,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<{ status: number; headers: NodeJS.Dict<string | string[]> }> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
      response.resume();
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers }),
      );
    })
      .on('error', reject)
      .end();
  });
}

const tokens: Access = {
  tokensNeeded: true,
  identify: async (token) =>
    token === undefined || !['read', 'write', 'admin'].includes(token)
      ? undefined
      : { name: token, scope: token as Scope },
};

describe('who may ask', () => {
  it('is decided in the same way at the port for clients of cxdb', async () => {
    const { port } = await serveHttp({ words: 'cxdb' });
    const asked = async (headers: Record<string, string>): Promise<number> =>
      (await raw(port, '/v1/contexts', headers)).status;
    expect(await asked({})).toBe(200);
    expect(await asked({ host: 'evil.example' })).toBe(403);
    expect(await asked({ origin: 'https://evil.example' })).toBe(403);
    const guarded = await serveHttp({ words: 'cxdb', access: tokens });
    const bearer = (token: string): RequestInit => ({
      headers: { authorization: `Bearer ${token}` },
    });
    const refused = await guarded.get('/v1/contexts');
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(await refused.json()).toMatchObject({ error: { code: 401 } });
    expect((await guarded.get('/v1/errors', bearer('read'))).status).toBe(200);
    await json(guarded.send('POST', '/v1/contexts/1/append-batch', {}, bearer('read')), 403);
  });

  it('is decided by the token and its scope', async () => {
    const { get, send } = await serveHttp({ access: tokens });
    const as = (token: string): RequestInit => ({ headers: { authorization: `Bearer ${token}` } });
    const refused = await get('/v1/contexts');
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect((await get('/v1/contexts', as('wrong'))).status).toBe(401);
    expect((await get('/v1/contexts', as('read'))).status).toBe(200);
    expect(await json(send('POST', '/v1/contexts', {}, as('read')), 403)).toMatchObject({
      error: { code: 'FORBIDDEN', data: { scope: 'write' } },
    });
    expect((await send('POST', '/v1/contexts', {}, as('write'))).status).toBe(201);
    expect((await send('POST', '/v1/maintain/gc', {}, as('write'))).status).toBe(403);
    expect((await send('POST', '/v1/maintain/gc', {}, as('admin'))).status).toBe(200);
    expect((await send('POST', '/v1/call/engine.commit', {}, as('read'))).status).toBe(403);
    expect((await get('/metrics')).status).toBe(401);
    for (const path of ['/healthz', '/healthz/live', '/healthz/ready', '/openapi.json']) {
      expect((await get(path)).status, path).toBe(200);
    }
  });

  it('is nobody under a name that is not of this machine', async () => {
    const { port } = await serveHttp();
    for (const host of ['localhost', 'app.localhost:80', `127.0.0.1:${port}`, '[::1]:7410']) {
      expect((await raw(port, '/v1/contexts', { host })).status, host).toBe(200);
    }
    for (const host of [
      'evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '10.0.0.1',
    ]) {
      expect((await raw(port, '/v1/contexts', { host })).status, host).toBe(403);
    }
  });

  it('is no page of another site, unless it was allowed', async () => {
    const origins = ['https://app.example'];
    const closed = await serveHttp();
    const open = await serveHttp({ origins });
    const origin = 'https://app.example';
    expect((await raw(closed.port, '/v1/contexts', { origin })).status).toBe(403);
    const own = `http://127.0.0.1:${closed.port}`;
    expect((await raw(closed.port, '/v1/contexts', { origin: own })).status).toBe(200);
    const allowed = await raw(open.port, '/v1/contexts', { origin });
    expect(allowed.headers['access-control-allow-origin']).toBe(origin);
    const preflight = await raw(open.port, '/v1/contexts', { origin }, 'OPTIONS');
    expect(preflight.status).toBe(204);
    expect(preflight.headers['access-control-allow-methods']).toContain('PATCH');
    const other = { origin: 'https://evil.example' };
    expect((await raw(open.port, '/v1/contexts', other, 'OPTIONS')).status).toBe(403);
    expect((await raw(open.port, '/v1/contexts', { origin: 'null' })).status).toBe(403);
  });

  it('is no page of another site that names no origin, as a picture or a link on it does', async () => {
    const { port } = await serveHttp({ origins: ['https://app.example'] });
    const asked = async (headers: Record<string, string>): Promise<number> =>
      (await raw(port, '/v1/contexts', headers)).status;
    expect(await asked({ 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await asked({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' })).toBe(403);
    const allowed = { origin: 'https://app.example', 'sec-fetch-site': 'cross-site' };
    expect(await asked(allowed)).toBe(200);
    for (const site of ['same-origin', 'none']) {
      expect(await asked({ 'sec-fetch-site': site }), site).toBe(200);
    }
  });
});

describe('bad input', () => {
  it('gets an error that says so, and changes nothing', async () => {
    const { port, send, get, store } = await serveHttp();
    const paths = [
      '/v1/../v1/contexts',
      '//v1/contexts',
      '/v1/%2e%2e/x',
      '/v1/contexts/%2f',
      '/v1\\x',
    ];
    for (const path of [
      ...paths,
      '/v1/contexts/%00',
      '/v1/contexts/%ff',
      '/v1/chats/a%',
      '/v1/./contexts',
      'http://evil/v1/contexts',
    ]) {
      expect((await raw(port, path)).status, path).toBe(422);
    }
    for (const path of ['/v1/contexts/0', '/v1/contexts/x', '/v1/contexts/1e3', '/v1/turns/-1']) {
      expect((await get(path)).status, path).toBe(422);
    }
    expect(await json(get('/v1/contexts?limit=1&limit=2'), 422)).toMatchObject({
      error: { data: { what: 'limit' } },
    });
    expect((await get('/v1/contexts?unknown=1')).status).toBe(422);
    expect((await get('/nothing')).status).toBe(404);
    expect((await send('PUT', '/v1/contexts')).status).toBe(404);
    expect((await send('POST', '/v1/contexts', { titel: 'x' })).status).toBe(422);
    expect((await send('POST', '/v1/contexts', [1])).status).toBe(422);
    const headers = { 'content-type': 'application/json' };
    for (const body of ['{', '\xff', 'null', '"x"']) {
      const answer = await get('/v1/contexts', { method: 'POST', headers, body });
      expect(answer.status, body).toBe(422);
    }
    expect(await store.maintain.stats()).toMatchObject({ contexts: 0 });
  });

  it('is a body whose coding nobody would undo', async () => {
    const { get, send } = await serveHttp();
    const coded = { headers: { 'Content-Encoding': 'gzip' } };
    const refused = await json(send('POST', '/v1/contexts', {}, coded), 422);
    expect(refused).toMatchObject({ error: { code: 'UNSUPPORTED' } });
    await json(get('/v1/blobs', { method: 'PUT', body: 'bytes', ...coded }), 422);
    expect(await json(get('/v1/blobs'))).toMatchObject({ items: [] });
    const plain = { headers: { 'Content-Encoding': 'identity' } };
    await json(get('/v1/blobs', { method: 'PUT', body: 'bytes', ...plain }), 201);
    await json(send('POST', '/v1/contexts', {}), 201);
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const typed = get('/v1/contexts/1/turns', { method: 'POST', body: '{}', headers: form });
    const { error } = await json<{ error: { message: string } }>(typed, 422);
    expect(error.message).toContain('Content-Type: application/json');
  });

  it('cannot make the server parse a bomb or swallow a flood', async () => {
    const { get, url } = await serveHttp({ limits: { bodyBytes: 100_000 } });
    const post = (body: string, type = 'application/json'): Promise<Response> =>
      fetch(`${url}/v1/contexts`, { method: 'POST', body, headers: { 'content-type': type } });
    expect((await post('['.repeat(99_000))).status).toBe(422);
    expect((await post(`{"meta":${'['.repeat(70)}${']'.repeat(70)}}`)).status).toBe(422);
    expect(await json(post('x'.repeat(100_001)), 413)).toMatchObject({
      error: { code: 'TOO_LARGE', data: { limit: 100_000 } },
    });
    async function* flood(): AsyncGenerator<Uint8Array> {
      for (let n = 0; n < 100; n += 1) yield new Uint8Array(10_000);
    }
    const streamed = fetch(`${url}/v1/contexts`, {
      method: 'POST',
      body: ReadableStream.from(flood()),
      duplex: 'half',
      headers: { 'content-type': 'application/json' },
    } as RequestInit);
    expect((await streamed).status).toBe(413);
    expect((await get('/v1/contexts')).status).toBe(200);
  });

  it(
    'that comes slowly, or not at all, holds up nobody and is cut off',
    undisturbed(150, async () => {
      const limits = { headersMs: 300, stallMs: 300 };
      const { port, get } = await serveHttp({ limits });
      const closed = (text: string): Promise<void> =>
        new Promise((resolve) => {
          const socket = connect(port, '127.0.0.1', () => socket.write(text));
          socket.on('data', () => undefined);
          socket.on('error', () => undefined);
          socket.on('close', () => resolve());
        });
      const body = 'POST /v1/contexts HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{';
      const cut = closed(body);
      expect((await get('/v1/contexts')).status).toBe(200);
      await cut;
    }),
  );
});

describe('who says nothing', () => {
  const pem = (name: string): string =>
    readFileSync(projectPath(`test/support/tls/${name}.pem`), 'utf8');
  const tls = { cert: pem('cert'), key: pem('key') };
  const TLS_HELLO_START = Buffer.from('16030100', 'hex');

  // The limit on a stall, and Node's own round of looking for late headers, would take a minute.
  it.each([
    ['on a connection', undefined, 'none', ''],
    ['in the middle of a head', undefined, 'none', 'GET / HTTP/1.1\r\nHo'],
    ['in place of a handshake', tls, 'none', ''],
    ['in the middle of a handshake', tls, 'none', TLS_HELLO_START],
    ['after a handshake', tls, 'tls', ''],
  ] as const)('%s is cut off soon', async (_, identity, kind, words) => {
    const limits = { headersMs: 200, stallMs: 60_000 };
    const { port } = await serveHttp({ limits, ...(identity && { tls: identity }) });
    const place = { port, host: '127.0.0.1' };
    const socket =
      kind === 'tls' ? connectTls({ ...place, rejectUnauthorized: false }) : connect(place);
    if (words.length > 0) socket.write(words);
    socket.on('error', () => undefined).resume();
    const startedAt = performance.now();
    await new Promise((resolve) => socket.once('close', resolve));
    expect(performance.now() - startedAt).toBeLessThan(15_000);
  });
});

describe('what is said about a request', () => {
  it('has its id, and no token', async () => {
    const lines: [object, string][] = [];
    const note = (facts: object, words: string): void => void lines.push([facts, words]);
    const log = { debug: note, info: note, warn: note, error: note };
    const { get } = await serveHttp({ access: tokens, log });
    const headers = { authorization: 'Bearer read', 'x-request-id': 'abc-1' };
    expect((await get('/v1/contexts?limit=5', { headers })).headers.get('x-request-id')).toBe(
      'abc-1',
    );
    expect(lines).toMatchObject([
      [
        { id: 'abc-1', method: 'GET', path: '/v1/contexts', status: 200, caller: 'read' },
        'request',
      ],
    ]);
    expect(JSON.stringify(lines)).not.toContain('Bearer');
    const bad = { 'x-request-id': 'a b\tc'.padEnd(300, 'x') };
    expect((await get('/healthz', { headers: bad })).headers.get('x-request-id')).toMatch(
      /^[\w-]{36}$/,
    );
  });

  it('is counted', async () => {
    const { get, send } = await serveHttp();
    await send('POST', '/v1/contexts');
    await send('POST', '/v1/contexts/1/turns', { type: 'note', payload: 'x'.repeat(100) });
    await get('/v1/contexts/7');
    const answer = await get('/metrics');
    const text = await answer.text();
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0.0.4/);
    for (const line of [
      'quipu_records_total{record="turn"} 1',
      'quipu_payload_bytes_total 102',
      'quipu_request_duration_seconds_count{protocol="http",kind="appendTurns"} 1',
      'quipu_request_failures_total{protocol="http",kind="getContext"} 1',
      'quipu_turns 1',
      'quipu_journal_broken 0',
    ]) {
      expect(text).toContain(`${line}\n`);
    }
    expect(text).toMatch(/^quipu_connections\{protocol="http"\} [12]$/m);
    expect(text).toMatch(/^quipu_network_bytes_total\{protocol="http",direction="in"\} [1-9]/m);
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    for (const name of names) expect(text).toMatch(new RegExp(`^# HELP ${name} .{10}`, 'm'));
  });
});
