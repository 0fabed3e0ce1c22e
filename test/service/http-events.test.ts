import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { WebClient } from '../../src/client/http/web-client.ts';
import { toContextId } from '../../src/base/brand.ts';
import { PATIENCE } from '../../src/testing/patience.ts';
import { json, readEvents, serveHttp } from './http-rig.ts';
import type { HttpRig, Seen } from './http-rig.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

const note = { type: 'note', payload: 'x' };

async function take(events: AsyncIterator<Seen>, count: number): Promise<Seen[]> {
  const seen: Seen[] = [];
  while (seen.length < count) {
    const next = await events.next();
    if (next.done === true) break;
    seen.push(next.value);
  }
  return seen;
}

/** A stream of events that ends with the test. */
async function listen(
  { get }: HttpRig,
  path: string,
  lastId?: string,
): Promise<{ events: AsyncGenerator<Seen, void, undefined>; stop: () => void }> {
  const aborter = new AbortController();
  const headers = lastId === undefined ? {} : { 'last-event-id': lastId };
  const response = await get(path, { headers, signal: aborter.signal });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  return { events: readEvents(response), stop: () => aborter.abort() };
}

describe('events of the store', () => {
  it('go on after the last one seen, across a restart, with no gap and no repetition', async () => {
    const folder = freshFolder();
    let rig = await serveHttp({ folder });
    await rig.send('POST', '/v1/contexts');
    const first = await listen(rig, '/v1/events');
    const seen = await take(first.events, 1);
    for (let n = 0; n < 5; n += 1) await rig.send('POST', '/v1/contexts/1/turns', note);
    seen.push(...(await take(first.events, 3)));
    await json(rig.send('POST', '/v1/contexts/1/open', { type: 'note' }), 201);
    await rig.send('POST', '/v1/contexts', { title: 'two' });
    await rig.send('POST', '/v1/turns/1/patches', { payload: 'y' });
    // The client is gone, then the server; both come back.
    first.stop();
    await rig.stop();
    rig = await serveHttp({ folder });
    await rig.send('POST', '/v1/contexts/1/turns', note);

    const again = await listen(rig, '/v1/events', seen.at(-1)?.id);
    const rest = await take(again.events, 7);
    again.stop();
    const kinds = [...seen, ...rest].map(({ event, data }) => {
      const { turn, context } = data as { turn?: { id: string }; context?: { id: string } };
      return `${event} ${turn?.id ?? context?.id ?? ''}`.trim();
    });
    expect(kinds).toEqual([
      'started',
      'turn.appended 1',
      'turn.appended 2',
      'turn.appended 3',
      'resumed',
      'context.created 2',
      'turn.appended 4',
      'turn.appended 5',
      'turn.appended 6',
      'turn.appended 7',
      'patch.added',
    ]);
    const interrupted = rest.find(
      ({ data }) => (data as { turn?: { id: string } }).turn?.id === '6',
    );
    expect(interrupted?.data).toMatchObject({ turn: { outcome: 'interrupted' } });
  });

  it('can be narrowed, and refuse a place that is none', async () => {
    const rig = await serveHttp();
    const { store, get } = rig;
    const { id } = await store.contexts.create();
    const narrow = await listen(rig, '/v1/events?kinds=context.removed,patch.added&context=1');
    await take(narrow.events, 1);
    await store.contexts.append(id, note);
    await store.contexts.remove(id);
    expect(await take(narrow.events, 1)).toMatchObject([
      { event: 'context.removed', data: { contextId: '1' } },
    ]);
    narrow.stop();
    for (const path of ['/v1/events?after=x', '/v1/events?kinds=x', '/v1/events?context=0']) {
      expect((await get(path)).status, path).toBe(422);
    }
  });

  it('say that they are alive, and end when the server stops', async () => {
    const rig = await serveHttp({ limits: { heartbeatMs: 20 } });
    const response = await rig.get('/v1/events');
    const reader = response.body!.getReader();
    let text = '';
    while (text.split(': still here').length < 4) {
      text += Buffer.from((await reader.read()).value as Uint8Array).toString();
    }
    const started = performance.now();
    const stopping = rig.stop(60_000);
    while (!(await reader.read()).done);
    await stopping;
    expect(performance.now() - started).toBeLessThan(15_000);
  });
});

describe('events of a context', () => {
  it('say how many turns are yet to come when they are many', async () => {
    const rig = await serveHttp();
    const { id } = await rig.store.contexts.create();
    await rig.store.contexts.appendBatch(
      id,
      Array.from({ length: 300 }, () => note),
    );
    const { events, stop } = await listen(rig, '/v1/contexts/1/events');
    const seen = await take(events, 301);
    expect(seen[0]).toEqual({ event: 'behind', data: { turns: 300 } });
    expect(seen.slice(1).map((event) => event.id)).toEqual(
      Array.from({ length: 300 }, (_, at) => String(at + 1)),
    );
    stop();
  });

  it('are its turns, with those that are open on request, and end when it is removed', async () => {
    const rig = await serveHttp();
    const { store } = rig;
    const { id } = await store.contexts.create();
    await store.contexts.append(id, note);
    const { events } = await listen(rig, '/v1/contexts/1/events?open=true');
    expect(await take(events, 1)).toMatchObject([
      { id: '1', event: 'turn', data: { payload: 'x' } },
    ]);
    const open = await store.contexts.open(id, { type: 'note' });
    expect(await take(events, 1)).toMatchObject([{ event: 'open', data: { id: '2' } }]);
    await open.write('hi');
    await open.seal();
    expect(await take(events, 1)).toMatchObject([{ id: '2', event: 'turn' }]);
    const late = await listen(rig, '/v1/contexts/1/events?after=head');
    expect(await take(late.events, 1)).toMatchObject([{ id: '2', event: 'began' }]);
    await store.contexts.remove(id);
    expect(await take(events, 2)).toEqual([{ event: 'end', data: {} }]);
    expect((await rig.get('/v1/contexts/9/events')).status).toBe(404);
  });

  it('follow the bytes of an open turn', async () => {
    const rig = await serveHttp();
    const { id } = await rig.store.contexts.create();
    const open = await rig.store.contexts.open(id, { type: 'note' });
    await open.write('hello');
    const { events } = await listen(rig, '/v1/turns/1/events', '2');
    const [first] = await take(events, 1);
    expect(first).toEqual({ id: '5', event: 'delta', data: { offset: 2, base64: btoa('llo') } });
    await open.write('!');
    await open.seal();
    expect(await take(events, 3)).toMatchObject([{ id: '6' }, { event: 'end' }]);
  });

  it('tell a web page that the head was moved, also when it comes back', async () => {
    const rig = await serveHttp();
    const client = new WebClient(rig.url, { timeoutMs: 10_000 });
    const { id } = await client.createContext();
    for (let n = 0; n < 3; n += 1) await client.append(id, note);
    const aborter = new AbortController();
    const seen: string[] = [];
    const onMoved = ({ backTo }: { backTo: string }): void => void seen.push(`back to ${backTo}`);
    const reading = (async () => {
      for await (const turn of client.follow(id, { signal: aborter.signal, onMoved })) {
        seen.push(turn.id);
        if (seen.length === 6) aborter.abort();
      }
    })();
    await expect.poll(() => seen.length).toBe(3);
    expect(await client.moveHead(id, '1', { expectedHead: '3' })).toMatchObject({ head: '1' });
    await expect.poll(() => seen.length).toBe(4);
    await client.moveHead(id, '3');
    await reading;
    expect(seen).toEqual(['1', '2', '3', 'back to 1', '2', '3']);
    await client.moveHead(id, '0');
    const { events } = await listen(rig, `/v1/contexts/${id}/events`, '3');
    expect(await take(events, 1)).toMatchObject([{ id: '0', event: 'moved' }]);
    await expect(client.moveHead(id, '1', { expectedHead: '3' })).rejects.toMatchObject({
      code: 'HEAD_MOVED',
    });
  });

  it('reach a web page across a restart without gap or repetition', async () => {
    const folder = freshFolder();
    let rig = await serveHttp({ folder });
    const { port } = rig;
    const client = new WebClient(rig.url, { timeoutMs: 10_000 });
    const { id } = await client.createContext({ title: 'one' });
    const aborter = new AbortController();
    const seen: string[] = [];
    const reading = (async () => {
      for await (const turn of client.follow(id, { signal: aborter.signal })) {
        seen.push(turn.id);
        if (seen.length === 8) aborter.abort();
      }
    })();
    for (let n = 0; n < 4; n += 1) await client.append(id, note);
    await rig.stop();
    const late = client.append(id, note);
    rig = await serveHttp({ folder, port });
    await late;
    for (let n = 0; n < 3; n += 1) await client.append(id, note);
    await reading;
    expect(seen).toEqual(['1', '2', '3', '4', '5', '6', '7', '8']);
    expect((await client.last(id, { limit: 2 })).turns).toMatchObject([{ id: '7' }, { id: '8' }]);
  });
});

describe('a reader that reads nothing', () => {
  const RECEIVED_MAX = 20_000_000;

  it('costs little and is cut off', { timeout: 60_000 }, async () => {
    const rig = await serveHttp({ limits: { stallMs: 300, heartbeatMs: 50 } });
    const { store, port } = rig;
    const { id } = await store.contexts.create();
    const big = { type: 'note', payload: 'x'.repeat(1_000_000) };
    for (let n = 0; n < 40; n += 1) await store.contexts.append(id, big);
    const socket = connect(port, '127.0.0.1');
    socket.pause();
    socket.write('GET /v1/contexts/1/events HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const closed = new Promise<void>((resolve) => {
      socket.on('close', () => resolve());
      socket.on('error', () => undefined);
    });
    const connections = async (): Promise<string> =>
      /^quipu_connections\{protocol="http"\} (\d+)$/m.exec(
        await (await rig.get('/metrics')).text(),
      )![1]!;
    await once(socket, 'connect');
    // The one of this question stays.
    await expect.poll(connections, PATIENCE).toBe('1');
    // Everyone else is served meanwhile; only what the kernel buffered is there to be read.
    expect(await store.contexts.get(toContextId(id))).toMatchObject({ headDepth: 39 });
    let received = 0;
    socket.on('data', (piece: Buffer) => {
      received += piece.length;
      // One that was not cut off would be told of what comes for ever.
      if (received >= RECEIVED_MAX) socket.destroy();
    });
    socket.resume();
    await closed;
    expect(received).toBeLessThan(RECEIVED_MAX);
  });

  it(
    'makes room for one that reads, and comes back to where it was',
    { timeout: 60_000 },
    async () => {
      const rig = await serveHttp({ limits: { answerBytes: 1_500_000 } });
      const { store, port } = rig;
      const { id } = await store.contexts.create();
      for (let n = 0; n < 12; n += 1) {
        await store.contexts.append(id, { type: 'note', payload: `${n} `.padEnd(1_000_000, 'x') });
      }
      const stalled = connect(port, '127.0.0.1').pause();
      stalled.on('error', () => undefined);
      stalled.write('GET /v1/contexts/1/events HTTP/1.1\r\nHost: localhost\r\n\r\n');
      // It holds the room as soon as nothing of an event goes any further.
      await rig.get('/v1/contexts/1/turns').then((page) => page.text());
      const reader = await listen(rig, '/v1/contexts/1/events');
      expect((await take(reader.events, 12)).map((seen) => seen.id)).toEqual(ids(1, 12));
      reader.stop();
      let text = '';
      for await (const piece of stalled) text += String(piece);
      const taken = [...text.matchAll(/^id: (\d+)\nevent: turn\ndata: .*\n\n/gm)].map(
        ([, one]) => one!,
      );
      expect(taken).toEqual(ids(1, taken.length));
      expect(taken.length).toBeLessThan(12);
      const again = await listen(rig, '/v1/contexts/1/events', taken.at(-1));
      const rest = await take(again.events, 12 - taken.length);
      expect(rest.map((seen) => seen.id)).toEqual(ids(taken.length + 1, 12));
      again.stop();
    },
  );
});

function ids(from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => String(from + index));
}
