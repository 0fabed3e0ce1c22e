import { encode } from '@msgpack/msgpack';
import { describe, expect, it } from 'vitest';
import { json, serveHttp } from './http-rig.ts';
import type { HttpRig } from './http-rig.ts';

// cxdb's HTTP side as its documents describe it: the flows of their examples, and what its clients send.

const TYPE = 'com.example.Message';
const BUNDLE = {
  registry_version: 1,
  bundle_id: '2025-01-30T10:00:00Z#abc123',
  types: {
    [TYPE]: {
      versions: {
        1: {
          fields: {
            1: { name: 'role', type: 'u8', enum: 'com.example.Role' },
            2: { name: 'text', type: 'string', optional: true },
            3: { name: 'timestamp', type: 'u64', semantic: 'unix_ms', optional: true },
            30: { name: 'context_metadata', type: 'map', optional: true },
          },
          renderer: { esm_url: 'builtin:Message' },
        },
      },
    },
  },
  enums: { 'com.example.Role': { 1: 'system', 2: 'user', 3: 'assistant' } },
};
const BUNDLE_PATH = `/v1/registry/bundles/${encodeURIComponent(BUNDLE.bundle_id)}`;

interface Page {
  readonly meta: Record<string, unknown>;
  readonly turns: readonly Record<string, unknown>[];
  readonly next_before_turn_id: string | null;
}
interface List {
  readonly contexts: readonly Record<string, unknown>[];
  readonly count: number;
  readonly total_count: number;
}

const append = (rig: HttpRig, context: string, data: object, more: object = {}) =>
  json<{ turn_id: string; depth: number; content_hash: string }>(
    rig.send('POST', `/v1/contexts/${context}/append`, {
      type_id: TYPE,
      type_version: 1,
      data,
      ...more,
    }),
    201,
  );

const create = async (rig: HttpRig, tag?: string): Promise<string> => {
  const headers = tag === undefined ? {} : { 'X-CXDB-Client-Tag': tag };
  const made = rig.send('POST', '/v1/contexts/create', { base_turn_id: '0' }, { headers });
  return (await json<{ context_id: string }>(made, 201)).context_id;
};

it('answers a search shortly, however long the titles are that first turns give', async () => {
  const rig = await serveHttp();
  const context = await create(rig);
  const title = 'A'.repeat(900_000);
  const { turn_id: base } = await append(rig, context, { 30: { 2: title, 10: { 1: 1 } } });
  for (let n = 0; n < 20; n += 1) {
    await rig.send('POST', '/v1/contexts/fork', { base_turn_id: base });
  }
  const query = encodeURIComponent(Array.from({ length: 200 }, () => 'title ~= "b"').join(' OR '));
  const none = await json<List>(rig.send('GET', `/v1/contexts/search?q=${query}`));
  expect(none.total_count).toBe(0);
  const answer = await rig.send('GET', '/v1/contexts/search?q=id%20%3E%200');
  const text = await answer.text();
  expect(text.length).toBeLessThan(100_000);
  expect((JSON.parse(text) as List).total_count).toBe(21);
  const children = await json<{ count: number }>(
    rig.send('GET', '/v1/contexts/1/children?recursive=1'),
  );
  expect(children.count).toBe(21);
});

describe('the registry', () => {
  it('takes a bounded number of versions of a type, and goes on answering', async () => {
    const rig = await serveHttp();
    const put = async (id: string, from: number): Promise<number> => {
      const numbers = Array.from({ length: 1000 }, (_, index) => [from + index, {}]);
      const versions = Object.fromEntries(numbers) as object;
      const bundle = { registry_version: 1, bundle_id: id, types: { [TYPE]: { versions } } };
      return (await rig.send('PUT', `/v1/registry/bundles/${id}`, bundle)).status;
    };
    expect(await put('a', 1)).toBe(201);
    expect(await put('b', 1001)).toBe(422);
    const { types } = await json<{ types: object[] }>(rig.get('/v1/registry/types'));
    expect(types).toEqual([{ type_id: TYPE, latest_version: 1000, bundle_id: 'a' }]);
  });

  it('takes a bounded number of bytes', async () => {
    const rig = await serveHttp();
    const statuses = new Set<number>();
    for (let n = 0; n < 9; n += 1) {
      const id = `large-${n}`;
      const bundle = { registry_version: 1, bundle_id: id, note: 'x'.repeat(1_000_000) };
      statuses.add((await rig.send('PUT', `/v1/registry/bundles/${id}`, bundle)).status);
    }
    expect([...statuses]).toEqual([201, 422]);
  });

  it('takes a bundle once, and shows it by id, type and renderer', async () => {
    const rig = await serveHttp();
    expect((await rig.get(`/v1/registry/types/${TYPE}/versions/1`)).status).toBe(404);
    // Clients put the id into the path as it is, and what stands after # does not arrive.
    const put = () => rig.send('PUT', '/v1/registry/bundles/2025-01-30T10:00:00Z', BUNDLE);
    expect(await json(put(), 201)).toEqual({ bundle_id: BUNDLE.bundle_id });
    expect((await put()).status).toBe(204);
    const got = await rig.get(BUNDLE_PATH);
    expect(await got.text()).toBe(JSON.stringify(BUNDLE));
    const etag = got.headers.get('etag') ?? '';
    const again = await rig.get(BUNDLE_PATH, { headers: { 'If-None-Match': etag } });
    expect(again.status).toBe(304);
    expect(await json(rig.get(`/v1/registry/types/${TYPE}/versions/1`))).toMatchObject({
      type_id: TYPE,
      type_version: 1,
      fields: { 2: { name: 'text', type: 'string', optional: true } },
    });
    expect(await json(rig.get('/v1/registry/types?x=1'))).toEqual({
      types: [{ type_id: TYPE, latest_version: 1, bundle_id: BUNDLE.bundle_id }],
    });
    expect(await json(rig.get('/v1/registry/renderers'))).toEqual({
      renderers: { [TYPE]: { esm_url: 'builtin:Message' } },
    });
  });

  it('refuses another meaning, no bundle, and one that is too large, and outlives the server', async () => {
    const rig = await serveHttp();
    await rig.send('PUT', BUNDLE_PATH, BUNDLE);
    const status = async (body: unknown): Promise<number> =>
      (await rig.send('PUT', BUNDLE_PATH, body)).status;
    expect(await status({ ...BUNDLE, enums: {} })).toBe(409);
    const other = { 1: { fields: { 1: { name: 'role', type: 'string' } } } };
    expect(
      await status({ ...BUNDLE, bundle_id: 'b2', types: { [TYPE]: { versions: other } } }),
    ).toBe(409);
    expect(await status({ bundle_id: 'b3' })).toBe(422);
    expect(await status('text')).toBe(422);
    expect(await status({ ...BUNDLE, bundle_id: 'x'.repeat(2_000_000) })).toBe(413);
    await rig.stop();
    const next = await serveHttp({ folder: rig.folder });
    expect((await next.get(`/v1/registry/types/${TYPE}/versions/1`)).status).toBe(200);
  });
});

describe('turns', () => {
  it('are appended by name, stored by number, and shown typed, raw or both', async () => {
    const rig = await serveHttp();
    const context = await create(rig);
    await rig.send('PUT', BUNDLE_PATH, BUNDLE);
    const hello = { role: 'user', text: 'What is 2+2?', timestamp: '1000' };
    const first = await append(rig, context, hello, { idempotency_key: 'k' });
    expect(await append(rig, context, hello, { idempotency_key: 'k' })).toEqual(first);
    await append(rig, context, { role: 'assistant', text: '4.', extra: 1 });
    const path = `/v1/contexts/${context}/turns`;
    const typed = await json<Page>(rig.get(`${path}?view=typed&limit=10&whatever=1`));
    expect(typed).toMatchObject({
      meta: { context_id: context, head_turn_id: '2', registry_bundle_id: BUNDLE.bundle_id },
      turns: [
        {
          turn_id: '1',
          parent_turn_id: '0',
          declared_type: { type_id: TYPE, type_version: 1 },
          decoded_as: { type_id: TYPE, type_version: 1 },
          data: { role: 'user', text: 'What is 2+2?', timestamp: '1970-01-01T00:00:01.000Z' },
        },
        { turn_id: '2', data: { role: 'assistant', text: '4.' } },
      ],
      next_before_turn_id: '1',
    });
    const before = await json<Page>(rig.get(`${path}?before_turn_id=2&u64_format=number`));
    expect(before.turns).toMatchObject([{ turn_id: 1 }]);
    const unknown = await json<Page>(rig.get(`${path}?include_unknown=1&limit=1`));
    expect(unknown.turns).toMatchObject([{ turn_id: '2', unknown: { extra: 1 } }]);
    const asTexts = `${path}?include_unknown=1&limit=1&u64_format=string`;
    expect((await json<Page>(rig.get(asTexts))).turns).toMatchObject([{ unknown: { extra: '1' } }]);
    const raw = await json<Page>(rig.get(`${path}?view=raw&turn_id=1`));
    const { data: _, ...rest } = { data: 0, ...raw.turns[0] };
    const bytes = encode({ 1: 2, 2: 'What is 2+2?', 3: 1000 });
    expect(rest).toMatchObject({
      content_hash_b3: first.content_hash,
      encoding: 1,
      compression: 0,
      uncompressed_len: bytes.length,
      bytes_b64: Buffer.from(bytes).toString('base64'),
    });
    const both = await json<Page>(rig.get(`${path}?view=both&bytes_render=len_only&limit=1`));
    expect(both.turns).toMatchObject([
      { data: { text: '4.' }, bytes_len: expect.any(Number) as unknown },
    ]);
  });

  it('need a published type, unless they name their fields themselves', async () => {
    const rig = await serveHttp();
    const context = await create(rig);
    await rig.store.contexts.append(context, { type: 'note', payload: { text: 'ours' } });
    const path = `/v1/contexts/${context}/turns`;
    const ours = await json<Page>(rig.get(`${path}?view=typed`));
    expect(ours.turns).toMatchObject([{ data: { text: 'ours' }, decoded_as: { type_id: 'note' } }]);
    await append(rig, context, { text: 'no type yet' });
    expect((await rig.get(`${path}?view=typed`)).status).toBe(424);
    expect((await rig.get(`${path}?view=raw`)).status).toBe(200);
    await rig.send('PUT', BUNDLE_PATH, BUNDLE);
    const named = await json<Page>(rig.get(`${path}?view=typed&limit=1`));
    expect(named.turns).toMatchObject([{ data: { text: 'no type yet' } }]);
    const explicit = `${path}?type_hint_mode=explicit&as_type_id=${TYPE}&as_type_version=1`;
    const shown = await json<Page>(rig.get(explicit));
    expect(shown.turns).toMatchObject([{ data: { text: 'ours' } }, {}]);
    expect((await rig.get(`${path}?type_hint_mode=explicit`)).status).toBe(422);
    // As cxdb, it takes words that it does not know for the usual ones.
    const lenient = `${path}?view=x&type_hint_mode=x&as_type_version=x&u64_format=x`;
    expect((await json<Page>(rig.get(lenient))).turns).toMatchObject([
      { data: { text: 'ours' } },
      {},
    ]);
    // One payload that is not what it says spoils its own turn alone.
    const bad = { type: TYPE, encoding: 'msgpack', payload: Buffer.from([0xc1]) } as const;
    await rig.store.contexts.append(context, bad);
    const isolated = await json<Page>(rig.get(`${path}?view=typed`));
    expect(isolated.turns.at(-1)).toMatchObject({
      projection_error: { message: expect.any(String) as unknown },
    });
    expect(isolated.turns).toHaveLength(3);
    expect((await rig.get(`${path}?before_turn_id=999`)).status).toBe(404);
    expect((await rig.get(`${path}?string_limit=70000`)).status).toBe(422);
  });

  it('may have keys of 64 bits, as encoders of Go write them', async () => {
    const rig = await serveHttp();
    const context = await create(rig);
    await rig.send('PUT', BUNDLE_PATH, BUNDLE);
    // Keys 1 and 2 as unsigned, and 30 as a signed integer of eight bytes, with the tag of the client below 1.
    const [one, two, thirty] = ['cf0000000000000001', 'cf0000000000000002', 'd3000000000000001e'];
    const hex = `83${one}02${two}a26869${thirty}81${one}a2676f`;
    const bytes = Buffer.from(hex, 'hex').toString('base64');
    const body = { type_id: TYPE, type_version: 1, payload_base64: bytes };
    await json(rig.send('POST', `/v1/contexts/${context}/append`, body), 201);
    const path = `/v1/contexts/${context}/turns`;
    const { turns } = await json<Page>(rig.get(`${path}?view=both`));
    expect(turns).toMatchObject([{ data: { role: 'user', text: 'hi' }, bytes_b64: bytes }]);
    expect(await json(rig.get(`/v1/contexts/${context}?include_provenance=1`))).toMatchObject({
      client_tag: 'go',
    });
  });

  it('refuses payloads that do not fit', async () => {
    const rig = await serveHttp();
    const context = await create(rig);
    await rig.send('PUT', BUNDLE_PATH, BUNDLE);
    const status = async (body: object): Promise<number> =>
      (await rig.send('POST', `/v1/contexts/${context}/append`, body)).status;
    const typed = { type_id: TYPE, type_version: 1 };
    expect(await status({ ...typed, data: { text: 'no role' } })).toBe(422);
    expect(await status({ ...typed, data: { role: 'nobody' } })).toBe(422);
    expect(await status({ ...typed, data: { role: 2, text: 7 } })).toBe(422);
    expect(await status({ ...typed })).toBe(422);
    expect(await status({ type_version: 1, data: {} })).toBe(422);
    expect(await status({ ...typed, payload_base64: 'wQ==' })).toBe(422);
    expect(await status({ ...typed, payload_base64: 'AQ==' })).toBe(422);
    const payload = Buffer.from(encode({ 1: 2 })).toString('base64');
    expect(await status({ ...typed, payload_base64: payload })).toBe(201);
    expect(
      (await rig.send('POST', '/v1/contexts/9/append', { ...typed, data: { role: 2 } })).status,
    ).toBe(404);
  });
});

describe('contexts', () => {
  it('are told from ours by the header and by keys that only cxdb has', async () => {
    const rig = await serveHttp();
    const tagged = { headers: { 'X-CXDB-Client-Tag': 'cxtx' } };
    const made = rig.send('POST', '/v1/contexts', { base_turn_id: 0 }, tagged);
    expect(await json(made, 201)).toEqual({ context_id: '1', head_turn_id: '0', head_depth: 0 });
    const body = { type_id: 't', type_version: '2', payload: { a: 1 } };
    await json(rig.send('POST', '/v1/contexts/1/turns', body, tagged), 201);
    const forked = await json(rig.send('POST', '/v1/contexts/fork', { base_turn_id: '1' }), 201);
    expect(forked).toEqual({ context_id: '2', head_turn_id: '1', head_depth: 0 });
    expect((await rig.send('POST', '/v1/contexts/fork', {})).status).toBe(422);

    // Ours stay as they are, and as strict.
    expect(await json(rig.get('/v1/contexts'))).toHaveProperty('items');
    expect(await json(rig.get('/v1/contexts/1'))).toMatchObject({ id: '1', head: '1' });
    expect(await json(rig.get('/v1/contexts/1/turns'))).toMatchObject({
      turns: [{ id: '1', version: 2 }],
    });
    expect((await rig.get('/v1/contexts?limmit=1')).status).toBe(422);
    expect((await rig.get('/v1/contexts/1/turns?lim=1')).status).toBe(422);
    expect((await rig.send('POST', '/v1/contexts', { base_turn_id: 0 })).status).toBe(422);

    const list = await json<List>(rig.get('/v1/contexts', tagged));
    expect(list.contexts.map(({ context_id: id }) => id)).toEqual(['2', '1']);
    const filtered = await json<List>(rig.get('/v1/contexts?tag=cxtx&limit=bad&foo=bar'));
    expect(filtered).toMatchObject({
      count: 1,
      contexts: [{ context_id: '1', client_tag: 'cxtx' }],
    });
    expect(await json(rig.get('/v1/contexts/1?include_provenance=1'))).toMatchObject({
      context_id: '1',
      head_turn_id: '1',
      lineage: { child_context_count: 0 },
    });
    expect((await rig.get('/v1/contexts/99?include_lineage=1')).status).toBe(404);
  });

  it('are found by what their first turns say', async () => {
    const rig = await serveHttp();
    const { contexts } = rig.store;
    const about = (tag: string, service: string, parent?: number): Uint8Array =>
      encode({
        30: {
          1: tag,
          2: `title of ${tag}`,
          3: ['l1'],
          10: { 1: parent ?? null, 20: 'alice', 40: service, 60: { PATH: '/bin' } },
        },
      });
    for (const [tag, service, parent] of [
      ['amplifier', 'worker-1', undefined],
      ['test', 'worker-2', 1],
      ['amplifier', 'api', 2],
    ] as const) {
      const { id } = await contexts.create();
      const payload = about(tag, service, parent);
      await contexts.append(id, { type: TYPE, encoding: 'msgpack', payload });
    }
    const search = async (q: string): Promise<unknown[]> => {
      const found = await json<List>(rig.get(`/v1/contexts/search?q=${encodeURIComponent(q)}`));
      return found.contexts.map(({ context_id: id }) => Number(id));
    };
    expect(await search('tag = "amplifier"')).toEqual([3, 1]);
    expect(await search('service ^= "worker" AND NOT tag = "test"')).toEqual([1]);
    expect(await search('parent = 1 OR label = "none"')).toEqual([2]);
    expect(await search('user = "alice" AND created > "-24h" AND depth >= 0')).toEqual([3, 2, 1]);
    expect(await search('id IN (1, 2) AND title ^= "title of t"')).toEqual([2]);
    const wrong = await rig.get('/v1/contexts/search?q=nobody%20%3D%201');
    expect(wrong.status).toBe(400);
    expect(await wrong.json()).toMatchObject({
      error: expect.stringContaining('nobody') as unknown,
      error_type: 'UnknownField',
      position: 0,
      field: 'nobody',
    });
    expect((await rig.get('/v1/contexts/search')).status).toBe(400);

    expect(await json(rig.get('/v1/contexts/2/provenance'))).toEqual({
      context_id: '2',
      provenance: {
        parent_context_id: 1,
        on_behalf_of: 'alice',
        service_name: 'worker-2',
        env: { PATH: '/bin' },
      },
    });
    const list = await json<List>(rig.get('/v1/contexts?include_provenance=1&tag=test'));
    expect(list.contexts).toMatchObject([
      { context_id: '2', title: 'title of test', provenance: { service_name: 'worker-2' } },
    ]);
    const children = async (query: string): Promise<unknown> =>
      (
        await json<{ children: { context_id: string }[] }>(
          rig.get(`/v1/contexts/1/children${query}`),
        )
      ).children.map(({ context_id: id }) => id);
    expect(await children('')).toEqual(['2']);
    expect(await children('?recursive=1')).toEqual(['3', '2']);
    // What was hidden is not shown by it, either.
    await contexts.tombstone(1, 'private');
    expect(await search('tag = "amplifier"')).toEqual([3]);
    expect(await json(rig.get('/v1/contexts/1/provenance'))).toEqual({
      context_id: '1',
      provenance: null,
    });
  });

  it('are counted', async () => {
    const rig = await serveHttp();
    await append(rig, await create(rig), { text: 'x' });
    expect(await json(rig.get('/v1/metrics?x=1'))).toMatchObject({
      objects: { contexts_total: 1, turns_total: 1, registry_bundles_total: 0 },
      memory: { process_rss_bytes: expect.any(Number) as unknown },
    });
  });
});
