import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { toContextId } from '../../src/base/brand.ts';
import { WebClient } from '../../src/client/http/web-client.ts';
import { blobJson } from '../../src/server/http/routes/blobs.ts';
import { contextJson } from '../../src/server/http/routes/contexts.ts';
import { errorJson } from '../../src/server/http/routes/create-routes.ts';
import { patchJson } from '../../src/server/http/routes/patches.ts';
import { turnJson } from '../../src/server/http/routes/turns.ts';
import { json, serveHttp } from './http-rig.ts';

interface TurnBody {
  id: string;
  payload?: unknown;
}

interface PageBody {
  turns: TurnBody[];
  cursor?: string;
  nextDepth?: number;
}

const note = (n: number): { type: string; payload: object } => ({ type: 'note', payload: { n } });

describe('contexts and turns over HTTP', () => {
  it('forks and creates once for a key', async () => {
    const { send } = await serveHttp();
    const keyed = { headers: { 'Idempotency-Key': 'job-7' } };
    for (let times = 0; times < 2; times += 1) {
      expect(await json(send('POST', '/v1/contexts', {}, keyed), 201)).toMatchObject({ id: '1' });
    }
    await json(send('POST', '/v1/contexts/1/turns', note(1)), 201);
    for (let times = 0; times < 2; times += 1) {
      const made = send('POST', '/v1/turns/1/fork', { title: 'two' }, keyed);
      expect(await json(made, 201)).toMatchObject({ id: '2', title: 'two' });
    }
    await json(send('POST', '/v1/turns/1/fork', { title: 'three' }, keyed), 409);
    expect(await json(send('POST', '/v1/turns/1/fork'), 201)).toMatchObject({ id: '3' });
  });

  it('appends the turns of a batch whose own keys are new', async () => {
    const { get, send } = await serveHttp();
    await json(send('POST', '/v1/contexts', {}), 201);
    const path = '/v1/contexts/1/turns';
    const keyed = (n: number, key = `k${n}`): object => ({ ...note(n), idempotencyKey: key });
    const idsOf = (turns: TurnBody[]): unknown[] => turns.map(({ id }) => id);
    const sendAll = async (...turns: object[]): Promise<unknown[]> =>
      idsOf((await json<PageBody>(send('POST', path, { turns }), 201)).turns);
    expect(await sendAll(keyed(1), keyed(2))).toEqual(['1', '2']);
    expect(await sendAll(keyed(1), keyed(2))).toEqual(['1', '2']);
    expect(await sendAll(keyed(2), keyed(3))).toEqual(['2', '3']);
    await json(send('POST', path, { turns: [keyed(4), keyed(5, 'k1')] }), 409);
    await json(send('POST', path, { turns: [keyed(4), note(5)] }), 422);
    const headers = { 'Idempotency-Key': 'all' };
    await json(send('POST', path, { turns: [keyed(4)] }, { headers }), 422);
    await json(send('POST', path, keyed(4)), 422);
    expect(idsOf((await json<PageBody>(get(path))).turns)).toEqual(['1', '2', '3']);
  });

  it('appends a batch from a page, also when the answer to it is lost', async () => {
    const { url } = await serveHttp();
    let isLost = true;
    const client = new WebClient(url, {
      fetch: async (...given) => {
        const response = await fetch(...given);
        if (given[1]?.method !== 'POST' || !isLost) return response;
        isLost = false;
        throw new TypeError('fetch failed');
      },
    });
    const { id } = await client.createContext({}, { idempotencyKey: 'c' });
    const payloadsOf = async (): Promise<unknown[]> =>
      (await client.last(id)).turns.map(({ payload }) => payload);
    isLost = true;
    const turns = [
      note(1),
      { type: 't', encoding: 'bytes', payload: new Uint8Array([7]) },
    ] as const;
    const added = await client.appendBatch(id, turns, { expectedHead: 0 });
    expect(added.map(({ depth }) => depth)).toEqual([0, 1]);
    isLost = true;
    const keyed = [2, 3].map((n) => ({ ...note(n), idempotencyKey: `k${n}` }));
    const more = await client.appendBatch(id, keyed);
    expect(await client.appendBatch(id, keyed)).toEqual(more);
    expect(await payloadsOf()).toEqual([{ n: 1 }, { base64: 'Bw==' }, { n: 2 }, { n: 3 }]);
    const wrong = client.appendBatch(id, keyed, { idempotencyKey: 'all' });
    await expect(wrong).rejects.toMatchObject({ code: 'INVALID' });
    const [first] = await client.appendBatch(id, [note(4)], { parent: 0 });
    expect(first).toMatchObject({ depth: 0 });
  });

  it('names contexts, and gives the one of a name however it is written', async () => {
    const { get, send, url } = await serveHttp();
    const path = `/v1/contexts/by-name?name=${encodeURIComponent('../a b')}`;
    await json(get(path), 404);
    const made = await json(send('PUT', path, { title: 'one' }));
    expect(made).toMatchObject({ id: '1', name: '../a b', title: 'one' });
    expect(contextJson.safeParse(made).success).toBe(true);
    expect(await json(send('PUT', path, { title: 'two' }))).toMatchObject({ title: 'one' });
    expect(await json(get(path))).toEqual(made);
    await json(send('POST', '/v1/contexts', { name: '../a b' }), 409);
    await json(send('POST', '/v1/contexts', { name: '' }), 422);
    await json(send('PUT', '/v1/contexts/1/name', { name: 'b/1' }));
    expect(await json(get('/v1/contexts?namePrefix=b'))).toMatchObject({ items: [{ id: '1' }] });
    await json(send('PUT', '/v1/contexts/1/name', { name: null }));
    await json(get('/v1/contexts/by-name?name=b/1'), 404);

    const client = new WebClient(url);
    const first = await client.getOrCreateContext('..', { title: 'page' });
    expect(await client.getOrCreateContext('..')).toEqual(first);
    expect(await client.renameContext(first.id, 'x')).toMatchObject({ name: 'x' });
    expect(await client.contextByName('x')).toMatchObject({ id: first.id });
    const keyed = { idempotencyKey: 'k' };
    const { id } = await client.createContext({ name: 'once' }, keyed);
    expect(await client.createContext({ name: 'once' }, keyed)).toMatchObject({ id });
  });

  it('lists by fields and times, and counts', async () => {
    const { get, send, url } = await serveHttp();
    for (const meta of [{ env: 'prod', n: 1 }, { env: 'prod' }, { env: 'dev' }]) {
      await json(send('POST', '/v1/contexts', { meta }), 201);
    }
    const list = (meta: unknown, more = ''): Promise<unknown> =>
      json(get(`/v1/contexts?meta=${encodeURIComponent(JSON.stringify(meta))}${more}`));
    expect(await list({ env: 'prod', n: { exists: true } })).toMatchObject({
      items: [{ id: '1' }],
    });
    expect(await list({ env: { prefix: 'p' } }, '&count=true&limit=1')).toMatchObject({
      items: [{ id: '2' }],
      total: 2,
    });
    expect(await json(get('/v1/contexts?updatedUntil=1&createdSince=1'))).toEqual({ items: [] });
    for (const wrong of ['meta={', 'meta=[1]', 'meta={"a":[1]}', 'createdSince=x', 'count=2']) {
      await json(get(`/v1/contexts?${wrong}`), 422);
    }
    const page = await new WebClient(url).listContexts({ meta: { env: 'dev' }, count: true });
    expect(page).toMatchObject({ items: [{ id: '3' }], total: 1 });
  });

  it('creates, appends, reads in pages, forks and diffs', async () => {
    const { get, send } = await serveHttp();
    const made = await send('POST', '/v1/contexts', { title: 'one', labels: ['a'] });
    expect(made.headers.get('location')).toBe('/v1/contexts/1');
    expect(await json(made, 201)).toMatchObject({ id: '1', head: '0', title: 'one' });
    await json(send('POST', '/v1/contexts/1/turns', note(1)), 201);
    const turns = [note(2), note(3), note(4), note(5)];
    await json(send('POST', '/v1/contexts/1/turns', { turns }), 201);

    const last = await json<PageBody>(get('/v1/contexts/1/turns?limit=2'));
    expect(last.turns.map(({ payload }) => payload)).toEqual([{ n: 4 }, { n: 5 }]);
    const before = await json<PageBody>(get(`/v1/contexts/1/turns?limit=2&before=${last.cursor}`));
    expect(before.turns.map(({ id }) => id)).toEqual(['2', '3']);
    const range = await json<PageBody>(
      get('/v1/contexts/1/turns?from=1&to=5&limit=2&payload=false'),
    );
    expect(range).toMatchObject({ turns: [{ id: '2' }, { id: '3' }], nextDepth: 3 });
    expect(range.turns[0]).not.toHaveProperty('payload');

    await json(send('POST', '/v1/turns/3/fork', { title: 'two' }), 201);
    await json(send('POST', '/v1/contexts/2/turns', note(6)), 201);
    expect(await json(get('/v1/turns/5/diff/6'))).toEqual({
      base: '3',
      left: ['4', '5'],
      right: ['6'],
    });
    expect(await json(send('PATCH', '/v1/contexts/2', { title: null }))).not.toHaveProperty(
      'title',
    );
    const { items, cursor } = await json<{ items: object[]; cursor: string }>(
      get('/v1/contexts?limit=1'),
    );
    expect(items).toMatchObject([{ id: '2' }]);
    expect(await json(get(`/v1/contexts?limit=1&cursor=${cursor}`))).toMatchObject({
      items: [{ id: '1' }],
    });
    expect((await send('DELETE', '/v1/contexts/2')).status).toBe(204);
    expect((await get('/v1/contexts/2')).status).toBe(404);
  });

  it('repeats an append with the same key, and refuses one that comes too late', async () => {
    const { get, send } = await serveHttp();
    await send('POST', '/v1/contexts');
    const headers = { 'idempotency-key': 'k1', 'if-match': '"0"' };
    const first = await json(send('POST', '/v1/contexts/1/turns', note(1), { headers }), 201);
    expect(await json(send('POST', '/v1/contexts/1/turns', note(1), { headers }), 201)).toEqual(
      first,
    );
    await json(send('POST', '/v1/contexts/1/turns', note(2), { headers }), 409);
    const late = send('POST', '/v1/contexts/1/turns', note(2), { headers: { 'if-match': '"0"' } });
    expect(await json(late, 412)).toMatchObject({
      error: { code: 'HEAD_MOVED', data: { head: '1' } },
    });
    await json(
      send('POST', '/v1/contexts/1/turns', note(2), { headers: { 'if-match': '1' } }),
      422,
    );
    expect((await get('/v1/contexts/1')).headers.get('etag')).toBe('"1"');
  });

  it('takes bytes as they are, and in base64', async () => {
    const { get, send, url } = await serveHttp();
    await send('POST', '/v1/contexts');
    const raw = await fetch(`${url}/v1/contexts/1/turns?type=file`, {
      method: 'POST',
      body: Buffer.from([0, 255, 1]),
      headers: { 'content-type': 'application/octet-stream' },
    });
    expect(raw.status).toBe(201);
    await json(send('POST', '/v1/contexts/1/turns', { type: 'file', base64: 'AP8B' }), 201);
    const { turns } = await json<PageBody>(get('/v1/contexts/1/turns'));
    expect(turns.map(({ payload }) => payload)).toEqual([{ base64: 'AP8B' }, { base64: 'AP8B' }]);
  });

  it('patches, hides, pins and erases', async () => {
    const { get, send } = await serveHttp();
    await send('POST', '/v1/contexts');
    await send('POST', '/v1/contexts/1/turns', note(1));
    expect(
      await json(send('POST', '/v1/turns/1/patches', { payload: 'better' }), 201),
    ).toMatchObject({
      seq: 1,
    });
    expect(await json(get('/v1/turns/1'))).toMatchObject({ payload: 'better', patched: true });
    expect(await json(get('/v1/turns/1?as=original'))).toMatchObject({ payload: { n: 1 } });
    await json(send('POST', '/v1/turns/1/tombstone', { reason: 'no', expectedSeq: 0 }), 409);
    await json(send('POST', '/v1/turns/1/tombstone', { reason: 'no' }), 201);
    expect((await send('PUT', '/v1/turns/1/pin', { reason: 'why' })).status).toBe(204);
    expect(await json(get('/v1/pins'))).toEqual({ pins: [{ turn: '1', reason: 'why' }] });
    expect((await send('DELETE', '/v1/turns/1/pin')).status).toBe(204);
    const erased = await json(send('POST', '/v1/turns/1/erase', { reason: 'secret' }));
    expect(erased).toMatchObject({ turn: '1', erased: true });
    expect(await json(get('/v1/turns/1/patches'))).toMatchObject({ patches: { length: 3 } });
  });

  it('streams a turn in pieces that may be sent twice', async () => {
    const { get, send, url } = await serveHttp();
    await send('POST', '/v1/contexts');
    await json(send('POST', '/v1/contexts/1/open', { type: 'note' }), 201);
    const delta = (offset: number, body: string): Promise<Response> =>
      fetch(`${url}/v1/turns/1/delta?offset=${offset}`, { method: 'POST', body });
    expect(await json(delta(0, 'he'))).toEqual({ size: 2 });
    expect(await json(delta(2, 'llo'))).toEqual({ size: 5 });
    expect(await json(delta(2, 'llo'))).toEqual({ size: 5 });
    await json(delta(9, 'x'), 422);
    await json(send('POST', '/v1/contexts/1/turns', note(1)), 409);
    await json(send('POST', '/v1/turns/1/seal'), 201);
    await json(send('POST', '/v1/turns/1/seal'), 422);
    expect(await json(get('/v1/turns/1'))).toMatchObject({ payload: 'hello', state: 'sealed' });
  });

  it('aborts a turn whose text cannot be sealed', async () => {
    const { send, url } = await serveHttp();
    await send('POST', '/v1/contexts');
    await json(send('POST', '/v1/contexts/1/open', { type: 'note' }), 201);
    const body = Uint8Array.of(0xff);
    await json(fetch(`${url}/v1/turns/1/delta?offset=0`, { method: 'POST', body }));
    await json(send('POST', '/v1/turns/1/seal'), 422);
    const aborted = await json(send('POST', '/v1/turns/1/seal', { abort: 'no text' }), 201);
    expect(aborted).toMatchObject({ state: 'sealed', outcome: 'aborted' });
  });

  it('compresses what is worth it for who takes it', async () => {
    const { send, url } = await serveHttp();
    await send('POST', '/v1/contexts', { title: 'x'.repeat(1000), labels: ['y'.repeat(100)] });
    const { request } = await import('node:http');
    const read = (accept: string): Promise<{ encoding: string; body: Buffer }> =>
      new Promise((resolve, reject) => {
        const headers = { 'accept-encoding': accept };
        request(`${url}/v1/contexts`, { headers }, (response) => {
          const pieces: Buffer[] = [];
          response.on('data', (piece: Buffer) => pieces.push(piece));
          response.on('end', () =>
            resolve({
              encoding: String(response.headers['content-encoding']),
              body: Buffer.concat(pieces),
            }),
          );
        })
          .on('error', reject)
          .end();
      });
    const plain = await read('gzip;q=0');
    expect(plain.encoding).toBe('undefined');
    const compressed = await read('gzip, deflate');
    expect(compressed.encoding).toBe('gzip');
    expect(gunzipSync(compressed.body).toString()).toBe(plain.body.toString());
    expect(compressed.body.length).toBeLessThan(plain.body.length);
  });
});

describe('answers', () => {
  it('are as the description says', async () => {
    const { get, send, store, url } = await serveHttp();
    const made = await json(
      send('POST', '/v1/contexts', { kind: 'k', meta: [1], labels: ['a'] }),
      201,
    );
    const bytes = await store.contexts.append(toContextId(1), {
      type: 'file',
      payload: new Uint8Array([1]),
    });
    await store.contexts.patch(bytes.id, 'text');
    await store.contexts.tombstone(bytes.id, 'why');
    const open = await store.contexts.open(toContextId(1), { type: 'note' });
    await open.abort('enough');
    const put = await json(fetch(`${url}/v1/blobs`, { method: 'PUT', body: 'x' }), 201);
    const { patches } = await json<{ patches: object[] }>(get('/v1/turns/1/patches'));
    const { turns } = await json<PageBody>(get('/v1/contexts/1/turns'));
    const original = await json(get('/v1/turns/1?as=original'));
    const checks = [
      ...[made, await json(get('/v1/contexts/1'))].map((value) => [contextJson, value] as const),
      ...[...turns, original].map((value) => [turnJson, value] as const),
      ...patches.map((value) => [patchJson, value] as const),
      [blobJson, put] as const,
      [errorJson, await json(get('/v1/turns/99'), 404)] as const,
    ];
    expect(checks).toHaveLength(9);
    for (const [schema, value] of checks) expect(schema.safeParse(value).error).toBeUndefined();
  });
});

describe('blobs over HTTP', () => {
  it('stores, finds, and sends whole, in ranges, or not at all', async () => {
    const { get, url } = await serveHttp();
    const bytes = Buffer.from('0123456789');
    const put = (): Promise<Response> =>
      fetch(`${url}/v1/blobs?sha256=true`, { method: 'PUT', body: bytes });
    const info = await json<{ hash: string; sha256: string }>(put(), 201);
    expect(await json(put(), 200)).toMatchObject({ hash: info.hash, existed: true });
    const path = `/v1/blobs/${info.hash}`;
    const whole = await get(path);
    const etag = whole.headers.get('etag') ?? '';
    expect(await whole.text()).toBe('0123456789');
    expect(await (await get(`/v1/blobs/blob:sha256:${info.sha256}`)).text()).toBe('0123456789');

    const ranges = {
      'bytes=2-4': '234',
      'bytes=7-': '789',
      'bytes=-2': '89',
      'bytes=5-99': '56789',
    };
    for (const [range, text] of Object.entries(ranges)) {
      const part = await get(path, { headers: { range } });
      expect([part.status, await part.text()], range).toEqual([206, text]);
    }
    expect(
      (await get(path, { headers: { range: 'bytes=2-4' } })).headers.get('content-range'),
    ).toBe('bytes 2-4/10');
    const beyond = await get(path, { headers: { range: 'bytes=10-' } });
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */10']);
    const several = await get(path, { headers: { range: 'bytes=0-1,3-4' } });
    expect([several.status, await several.text()]).toEqual([200, '0123456789']);
    const other = await get(path, { headers: { range: 'bytes=0-1', 'if-range': '"other"' } });
    expect(await other.text()).toBe('0123456789');
    expect((await get(path, { headers: { 'if-none-match': `"x", ${etag}` } })).status).toBe(304);
    const head = await get(path, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '10']);
    expect((await get(`/v1/blobs/${'0'.repeat(64)}`)).status).toBe(404);
    expect((await get('/v1/blobs/nonsense')).status).toBe(422);
  });

  it('keeps nothing of an upload that breaks off', async () => {
    const { store, url } = await serveHttp();
    const aborter = new AbortController();
    async function* pieces(): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(300_000).fill(7);
      setTimeout(() => aborter.abort(), 20);
      await new Promise((resolve) => setTimeout(resolve, 100));
      yield new Uint8Array(10);
    }
    const put = fetch(`${url}/v1/blobs`, {
      method: 'PUT',
      body: ReadableStream.from(pieces()),
      duplex: 'half',
      signal: aborter.signal,
    } as RequestInit);
    await expect(put).rejects.toThrow(/abort/);
    expect(await store.maintain.stats()).toMatchObject({ blobs: 0 });
  });
});

describe('upkeep over HTTP', () => {
  it('answers with a report, or with progress on the way to it', async () => {
    const { get, send } = await serveHttp();
    await send('POST', '/v1/contexts');
    await send('POST', '/v1/contexts/1/turns', note(1));
    expect(await json(get('/v1/stats'))).toMatchObject({ turns: 1, contexts: 1 });
    expect(await json(send('POST', '/v1/maintain/verify'))).toMatchObject({ ok: true });
    expect(await json(send('POST', '/v1/maintain/gc', { dryRun: true }))).toMatchObject({
      dryRun: true,
    });
    const headers = { accept: 'text/event-stream' };
    const text = await (await send('POST', '/v1/maintain/verify', {}, { headers })).text();
    expect(text).toContain('event: result');
    expect(text.trimEnd().endsWith('event: end\ndata: {}')).toBe(true);
    await json(send('POST', '/v1/maintain/gc', { graceMs: -1 }), 422);
  });
});
