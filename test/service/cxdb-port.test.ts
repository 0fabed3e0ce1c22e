import { encode } from '@msgpack/msgpack';
import { describe, expect, it } from 'vitest';
import { json, readEvents, serveHttp } from './http-rig.ts';
import type { HttpRig, Seen } from './http-rig.ts';

// A port where everything is in cxdb's words. Each test sends what one program of cxdb sends: its page, its program
// `cxtx`, which writes over HTTP, and the MCP server of its gateway. docs/reference/cxdb.md has the table of calls.

const ITEM = 'cxdb.ConversationItem';
/** The kinds of fields that the types of its conversations have. */
const BUNDLE = {
  registry_version: 1,
  bundle_id: 'conversation.v3',
  types: {
    [ITEM]: {
      versions: {
        3: {
          fields: {
            1: { name: 'item_type', type: 'string' },
            2: { name: 'status', type: 'string', optional: true },
            3: { name: 'timestamp', type: 'timestamp_ms', optional: true },
            10: { name: 'user_input', type: 'ref', ref: 'cxdb.UserInput', optional: true },
            11: { name: 'turn', type: 'ref', ref: 'cxdb.AssistantTurn', optional: true },
            30: { name: 'context_metadata', type: 'ref', ref: 'cxdb.Metadata', optional: true },
          },
          renderer: { esm_url: 'builtin:ConversationRenderer' },
        },
      },
    },
    'cxdb.UserInput': {
      versions: {
        1: {
          fields: {
            1: { name: 'text', type: 'string' },
            2: { name: 'files', type: 'array', items: 'string', optional: true },
          },
        },
      },
    },
    'cxdb.AssistantTurn': {
      versions: {
        1: {
          fields: {
            1: { name: 'text', type: 'string' },
            2: {
              name: 'tool_calls',
              type: 'array',
              items: { ref: 'cxdb.ToolCall' },
              optional: true,
            },
          },
        },
      },
    },
    'cxdb.ToolCall': { versions: { 1: { fields: { 1: { name: 'name', type: 'string' } } } } },
    'cxdb.Metadata': {
      versions: {
        1: {
          fields: {
            1: { name: 'client_tag', type: 'string', optional: true },
            2: { name: 'title', type: 'string', optional: true },
            10: { name: 'provenance', type: 'ref', ref: 'cxdb.Provenance', optional: true },
          },
        },
      },
    },
    'cxdb.Provenance': {
      versions: {
        1: {
          fields: {
            1: { name: 'parent_context_id', type: 'u64', optional: true },
            2: { name: 'spawn_reason', type: 'string', optional: true },
            40: { name: 'service_name', type: 'string', optional: true },
            80: { name: 'captured_at', type: 'timestamp_ms', optional: true },
          },
        },
      },
    },
  },
};

type Fields = Record<string, unknown>;
interface Head {
  readonly context_id: string;
  readonly head_turn_id: string;
  readonly head_depth: number;
}
interface Page {
  readonly meta: Fields;
  readonly turns: readonly (Fields & { turn_id: string; data: Fields })[];
  readonly next_before_turn_id: string | null;
}

const userInput = (text: string, more: Fields = {}): Fields => ({
  item_type: 'user_input',
  timestamp: 1_790_000_000_000,
  user_input: { text },
  ...more,
});

/** As its program does: a context, the types unless they are there, then turns. */
async function converse({ get, send }: HttpRig, metadata: Fields = {}): Promise<Head> {
  const tagged = { headers: { 'X-CXDB-Client-Tag': 'cxtx' } };
  const made = await json<Head>(
    send('POST', '/v1/contexts/create', { base_turn_id: '0' }, tagged),
    201,
  );
  const type = await get(`/v1/registry/types/${ITEM}/versions/3`, tagged);
  if (type.status === 404) {
    await json(send('PUT', `/v1/registry/bundles/${BUNDLE.bundle_id}`, BUNDLE, tagged), 201);
  }
  const append = (data: Fields): Promise<Head> =>
    json(
      send(
        'POST',
        `/v1/contexts/${made.context_id}/append`,
        { type_id: ITEM, type_version: 3, data },
        tagged,
      ),
      201,
    );
  await append(userInput('hello', { context_metadata: { client_tag: 'cxtx', ...metadata } }));
  await append({ item_type: 'assistant_turn', turn: { text: 'hi', tool_calls: [{ name: 'ls' }] } });
  return made;
}

const serve = (): Promise<HttpRig> => serveHttp({ words: 'cxdb' });

describe('the program that writes over HTTP', () => {
  it('creates, registers, appends, and lists', async () => {
    const rig = await serve();
    const { context_id: id } = await converse(rig, {
      title: 'a talk',
      provenance: { service_name: 'w' },
    });
    await converse(rig);
    const { contexts } = await json<{ contexts: Fields[] }>(
      rig.get('/v1/contexts?include_provenance=1'),
    );
    expect(contexts.find((one) => one['context_id'] === id)).toMatchObject({
      client_tag: 'cxtx',
      title: 'a talk',
      provenance: { service_name: 'w' },
    });
    expect(await json(rig.get(`/v1/contexts/${id}/provenance`))).toEqual({
      context_id: id,
      provenance: { service_name: 'w' },
    });
  });
});

describe('the page', () => {
  it('lists contexts, opens one, pages, and reads one turn whole', async () => {
    const rig = await serve();
    const { context_id: id } = await converse(rig, { title: 'a talk' });
    const { context_id: child } = await converse(rig, {
      provenance: { parent_context_id: Number(id), spawn_reason: 'sub-agent' },
    });
    // A bare path and one with `limit` alone: these are ours on our own port.
    for (const path of [
      '/v1/contexts',
      '/v1/contexts?limit=20',
      '/v1/contexts?limit=20&new_key=1',
    ]) {
      expect(await json(rig.get(path))).toMatchObject({
        count: 2,
        contexts: [
          { context_id: child, is_live: false },
          { context_id: id, head_depth: 1 },
        ],
        active_sessions: [],
        active_tags: [],
      });
    }
    expect(await json(rig.get('/v1/contexts?limit=20&tag=other'))).toMatchObject({ contexts: [] });
    expect(
      await json(rig.get(`/v1/contexts/${id}?include_provenance=1&include_lineage=1`)),
    ).toMatchObject({
      context_id: id,
      title: 'a talk',
      lineage: { child_context_ids: [child], child_context_count: 1 },
    });
    expect(
      await json(
        rig.get(`/v1/contexts/${id}/children?recursive=1&include_provenance=1&include_lineage=1`),
      ),
    ).toMatchObject({
      context_id: id,
      recursive: true,
      count: 1,
      children: [{ context_id: child }],
    });

    const bare = await json<Page>(rig.get(`/v1/contexts/${id}/turns`));
    expect(bare.turns.map(({ data }) => data['item_type'])).toEqual([
      'user_input',
      'assistant_turn',
    ]);
    const list = 'view=typed&type_hint_mode=inherit&include_unknown=true&string_limit=2048';
    const newest = await json<Page>(rig.get(`/v1/contexts/${id}/turns?limit=1&${list}`));
    expect(newest).toMatchObject({
      meta: {
        context_id: id,
        head_depth: 1,
        registry_bundle_id: BUNDLE.bundle_id,
        string_limit: 2048,
      },
      turns: [{ data: { turn: { text: 'hi', tool_calls: [{ name: 'ls' }] } } }],
    });
    const before = await json<Page>(
      rig.get(
        `/v1/contexts/${id}/turns?limit=1&before_turn_id=${newest.next_before_turn_id}&${list}`,
      ),
    );
    expect(before.turns[0]?.data).toMatchObject({ user_input: { text: 'hello' } });
    const exact = await json<Page>(
      rig.get(
        `/v1/contexts/${id}/turns?limit=1&view=typed&include_unknown=true&turn_id=${before.turns[0]?.turn_id}`,
      ),
    );
    expect(exact.turns).toMatchObject([
      { data: { timestamp: '2026-09-21T14:13:20.000Z' }, declared_type: { type_id: ITEM } },
    ]);
    expect(await json(rig.get('/v1/registry/renderers'))).toEqual({
      renderers: { [ITEM]: { esm_url: 'builtin:ConversationRenderer' } },
    });
    const found = await json<{ contexts: Fields[] }>(
      rig.get(`/v1/contexts/search?q=${encodeURIComponent('title = "a talk"')}&limit=20`),
    );
    expect(found).toMatchObject({ contexts: [{ context_id: id }], total_count: 1 });
    expect(await json(rig.get('/v1/contexts/search?q=nonsense'), 400)).toMatchObject({
      error: expect.any(String) as string,
    });
  });

  it('shows files, blobs and whether the server is well', async () => {
    const rig = await serve();
    const { hash, ...file } = await rig.store.blobs.put(Buffer.from('package main'));
    const root = encode([
      { 1: 'a b.go', 2: 0, 3: 0o644, 4: file.size, 5: Buffer.from(hash, 'hex') },
    ]);
    const fsRoot = (await rig.store.blobs.put(root)).hash;
    const { id } = await rig.store.contexts.create();
    const turn = await rig.store.contexts.append(id, { type: 'note', payload: 'x', fsRoot });
    const next = await rig.store.contexts.append(id, { type: 'note', payload: 'y' });
    // A root holds for the turns after it, too.
    for (const at of [turn.id, next.id]) {
      expect(await json(rig.get(`/v1/turns/${at}/fs`))).toMatchObject({
        turn_id: String(at),
        entries: [{ name: 'a b.go', kind: 'file', hash }],
      });
      expect(await json(rig.get(`/v1/turns/${at}/fs/a%20b.go?format=json`))).toMatchObject({
        content_base64: Buffer.from('package main').toString('base64'),
      });
    }
    expect(await json(rig.get(`/v1/turns/${turn.id}/fs?path=none`), 404)).toMatchObject({
      error: { code: 404, message: expect.any(String) as string },
    });
    expect(await (await rig.get(`/v1/blobs/${hash}`)).text()).toBe('package main');
    const health = await rig.get('/healthz');
    expect([health.status, await health.text()]).toEqual([200, 'ok']);
  });

  it('draws its dashboard from figures that are all there, and lists what failed', async () => {
    const rig = await serve();
    await converse(rig);
    await json(rig.get('/v1/contexts/99?token=secret'), 404);
    const { errors } = await json<{ errors: Fields[] }>(rig.get('/v1/errors?limit=50'));
    expect(errors[0]).toEqual({
      timestamp_ms: expect.any(Number) as number,
      kind: 'http',
      status_code: 404,
      message: 'there is no context 99',
      path: '/v1/contexts/99',
    });
    const figures = await json<Record<string, Fields>>(rig.get('/v1/metrics'));
    const numbers = (group: string, ...names: string[]): void => {
      for (const name of names) expect(figures[group]?.[name], name).toBeTypeOf('number');
    };
    numbers('sessions', 'total', 'active', 'idle', 'last_activity_unix_ms');
    numbers('objects', 'contexts_total', 'turns_total', 'blobs_total', 'registry_types_total');
    numbers('storage', 'turns_index_bytes', 'blobs_index_bytes', 'heads_table_bytes');
    numbers('storage', 'turns_meta_bytes', 'data_dir_total_bytes', 'data_dir_free_bytes');
    numbers('filesystem', 'snapshots_total', 'index_bytes', 'content_bytes');
    numbers('perf', 'append_tps_1m', 'get_last_tps_1m', 'http_req_tps_1m', 'http_errors_tps_1m');
    expect(figures['perf']?.['get_blob_latency_ms']).toMatchObject({ p50: null, count: 0 });
    for (const flow of ['append', 'http']) {
      expect(figures['perf']?.[`${flow}_latency_ms`]).toHaveProperty('p50', expect.any(Number));
    }
    for (const flow of ['append', 'get_last', 'http_req']) {
      expect(figures['perf']?.[`${flow}_tps_history`]).toHaveLength(60);
    }
    expect(figures['perf']).toMatchObject({ append_latency_ms: { count: 2 } });
    // One is the type that was not there yet.
    expect(figures['errors']).toEqual({ total: 2, by_type: { http: 2 } });
  });

  it.each(['/v1/events', '/v1/contexts/2/events'])('hears what happens at %s', async (path) => {
    const rig = await serve();
    const { context_id: parent } = await converse(rig);
    const events = readEvents(await rig.get(path));
    expect((await events.next()).value).toEqual({ event: 'connected', data: {} });
    const { context_id: id } = await converse(rig, {
      title: 'a talk',
      provenance: { parent_context_id: Number(parent), spawn_reason: 'sub-agent' },
    });
    const seen: Seen[] = [];
    while (seen.filter(({ event }) => event === 'turn_appended').length < 2) {
      seen.push((await events.next()).value as Seen);
    }
    await events.return();
    const told = seen.map(({ event }) => event);
    expect(new Set(told)).toEqual(
      new Set(['context_created', 'turn_appended', 'context_metadata_updated', 'context_linked']),
    );
    const of = (event: string): unknown => seen.find((one) => one.event === event)?.data;
    expect(of('context_created')).toMatchObject({ context_id: id, client_tag: 'cxtx' });
    expect(of('turn_appended')).toMatchObject({
      context_id: id,
      parent_turn_id: '0',
      depth: 0,
      declared_type_id: ITEM,
      declared_type_version: 3,
    });
    expect(of('context_metadata_updated')).toEqual({
      context_id: id,
      client_tag: 'cxtx',
      title: 'a talk',
      has_provenance: true,
    });
    expect(of('context_linked')).toEqual({
      child_context_id: id,
      parent_context_id: parent,
      spawn_reason: 'sub-agent',
    });
  });
});

describe('the MCP server of the gateway', () => {
  it('lists, reads and appends bytes, without any header of cxdb', async () => {
    const rig = await serve();
    const tagged = { headers: { 'X-Client-Tag': 'gateway' } };
    const made = await rig.send('POST', '/v1/contexts/create', {}, tagged);
    const { context_id: id } = await json<Head>(made, 201);
    const item = encode({
      status: 'complete',
      item_type: 'user_input',
      user_input: { text: 'hi' },
    });
    const payload = { payload_base64: Buffer.from(item).toString('base64') };
    const at = `/v1/contexts/${id}`;
    await json(
      rig.send('POST', `${at}/append`, { type_id: ITEM, type_version: 3, ...payload }),
      201,
    );
    expect(await json(rig.get('/v1/contexts?limit=50'))).toMatchObject({
      contexts: [{ context_id: id }],
    });
    expect(await json(rig.get(at))).toMatchObject({
      client_tag: 'gateway',
      head_depth: 0,
      lineage: {},
    });
    expect(await json(rig.get(`${at}/turns?limit=50&view=raw`))).toMatchObject({
      turns: [{ bytes_b64: payload.payload_base64, encoding: 1 }],
    });
    // No type is published.
    expect(await json(rig.get(`${at}/turns?limit=50&view=typed`), 424)).toMatchObject({
      error: { code: 424, message: expect.stringContaining(ITEM) as string },
    });
  });
});

it('answers every error in its form, and has nothing of ours', async () => {
  const rig = await serve();
  for (const path of [
    '/',
    '/v1/queues',
    '/v1/call/engine.tips',
    '/v1/streams/a',
    '/openapi.json',
  ]) {
    expect(await json(rig.get(path), 404)).toMatchObject({
      error: { code: 404, message: expect.any(String) as string },
    });
  }
  const { context_id: id } = await json<Head>(rig.send('POST', '/v1/contexts'), 201);
  const body = { type_id: 'note', type_version: 1, data: {}, parent_turn_id: '7' };
  for (const at of ['append', 'turns']) {
    expect(await json(rig.send('POST', `/v1/contexts/${id}/${at}`, body), 409)).toMatchObject({
      error: { code: 409 },
    });
  }
  expect(
    await json(rig.send('POST', '/v1/contexts/fork', { base_turn_id: '7' }), 409),
  ).toMatchObject({
    error: { code: 409 },
  });
});
