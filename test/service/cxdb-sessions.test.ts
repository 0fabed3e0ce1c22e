import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { freshFolder } from '../../src/testing/fresh-folder.ts';
import { createLog } from '../../src/server/log/log.ts';
import { startServer } from '../../src/server/start-server.ts';
import { encodeHello, helloMeta } from '../../src/wire/hello.ts';
import { MessageType } from '../../src/wire/message-type.ts';
import { decodeHead, encodeCtxCreate } from '../wire/cxdb-client.ts';
import { json, readEvents, type Seen } from './http-rig.ts';
import { SocketPeer } from './socket-peer.ts';

// A client of cxdb that writes by the binary protocol, as the page of cxdb sees it: who is connected, which contexts
// are live, and under which name they are found when the client is gone.

interface Listed {
  readonly contexts: readonly Record<string, unknown>[];
  readonly active_sessions: readonly Record<string, unknown>[];
  readonly active_tags: readonly string[];
}

async function serve(): Promise<{ cxdb: string; tcpPort: number }> {
  const folder = freshFolder();
  const server = await startServer({
    store: join(folder, 'store'),
    host: '127.0.0.1',
    httpPort: 0,
    tcpPort: 0,
    cxdbPort: 0,
    tokenFile: join(folder, 'tokens.json'),
    allowAnonymous: false,
    allowHandlers: false,
    origins: [],
    limits: {},
    demo: false,
    version: 'test',
    log: createLog({ level: 'silent', forPeople: false, write: () => undefined }),
  });
  onTestFinished(() => server.close(0));
  return { cxdb: server.cxdb ?? '', tcpPort: Number(new URL(server.tcp).port) };
}

async function connect(tcpPort: number, tag: string, quipu = false): Promise<SocketPeer> {
  const peer = await SocketPeer.open(tcpPort);
  onTestFinished(() => peer.close());
  const meta = helloMeta({ token: undefined, quipu });
  await peer.must(MessageType.HELLO, encodeHello({ version: 1, tag, meta }));
  return peer;
}

async function create(peer: SocketPeer): Promise<string> {
  const reply = await peer.must(MessageType.CTX_CREATE, encodeCtxCreate(0n));
  return String(decodeHead(reply).context);
}

const listOf = (cxdb: string): Promise<Listed> => json<Listed>(fetch(`${cxdb}/v1/contexts`));

async function until(events: AsyncGenerator<Seen>, wanted: string): Promise<unknown> {
  for (;;) {
    const { event, data } = (await events.next()).value as Seen;
    if (event === wanted) return data;
  }
}

it('lists who is connected, and finds contexts by the name of their client when it is gone', async () => {
  const { cxdb, tcpPort } = await serve();
  const peer = await connect(tcpPort, 'kilroy/01LIVE');
  const id = await create(peer);
  const live = await listOf(cxdb);
  const [session] = live.active_sessions;
  expect(live.active_sessions).toEqual([
    {
      session_id: expect.stringMatching(/^\d+$/) as string,
      client_tag: 'kilroy/01LIVE',
      connected_at: expect.any(Number) as number,
      last_activity_at: expect.any(Number) as number,
      context_count: 1,
    },
  ]);
  expect(live.active_tags).toEqual(['kilroy/01LIVE']);
  expect(live.contexts).toMatchObject([
    { context_id: id, client_tag: 'kilroy/01LIVE', is_live: true },
  ]);
  expect(live.contexts[0]?.['session_id']).toBe(session?.['session_id']);
  const found = async (query: string): Promise<unknown> => {
    const { contexts } = await json<Listed>(
      fetch(`${cxdb}/v1/contexts/search?q=${encodeURIComponent(query)}`),
    );
    return contexts.map(({ context_id: one }) => one);
  };
  expect(await found('is_live = true')).toEqual([id]);
  const events = readEvents(await fetch(`${cxdb}/v1/events`));
  await until(events, 'connected');
  peer.close();
  await until(events, 'client_disconnected');
  await events.return();
  expect(await found('is_live = true')).toEqual([]);
  expect(await found('tag ^= "kilroy/"')).toEqual([id]);
  const gone = await listOf(cxdb);
  expect(gone).toMatchObject({ active_sessions: [], active_tags: [] });
  expect(gone.contexts[0]).toMatchObject({ client_tag: 'kilroy/01LIVE', is_live: false });
  expect(gone.contexts[0]).not.toHaveProperty('session_id');
});

it('tells of clients that come and go, of what they made, and of errors', async () => {
  const { cxdb, tcpPort } = await serve();
  const events = readEvents(await fetch(`${cxdb}/v1/events`));
  await until(events, 'connected');
  const peer = await connect(tcpPort, 'worker');
  const session = (await until(events, 'client_connected')) as Record<string, unknown>;
  expect(session).toEqual({ session_id: expect.any(String) as string, client_tag: 'worker' });
  const id = await create(peer);
  expect(await until(events, 'context_created')).toMatchObject({ context_id: id, ...session });
  await fetch(`${cxdb}/v1/contexts/99`);
  expect(await until(events, 'error_occurred')).toEqual({
    timestamp_ms: expect.any(Number) as number,
    kind: 'http',
    status_code: 404,
    message: 'there is no context 99',
    path: '/v1/contexts/99',
  });
  peer.close();
  expect(await until(events, 'client_disconnected')).toEqual({ ...session, contexts: [id] });
  await events.return();
});

it('keeps the names of clients of cxdb, and no others', async () => {
  const { cxdb, tcpPort } = await serve();
  await create(await connect(tcpPort, 'quipu-client', true));
  await create(await connect(tcpPort, ''));
  await create(await connect(tcpPort, 'a\u001b[31mred'));
  await create(await connect(tcpPort, '  spaces  '));
  const { contexts } = await listOf(cxdb);
  expect(contexts.map(({ client_tag: tag }) => tag)).toEqual([
    'spaces',
    undefined,
    undefined,
    undefined,
  ]);
});

it('says how large the disk is, and how much of it is free', async () => {
  const { cxdb } = await serve();
  const { storage } = await json<{ storage: Record<string, number> }>(fetch(`${cxdb}/v1/metrics`));
  const { data_dir_total_bytes: total = 0, data_dir_free_bytes: free = 0 } = storage;
  expect(free).toBeGreaterThan(0);
  expect(total).toBeGreaterThan(free);
});
