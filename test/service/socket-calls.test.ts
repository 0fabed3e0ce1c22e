import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { QuipuError } from '../../src/base/errors.ts';
import type { CallHandler, Caller } from '../../src/server/calls/call-handler.ts';
import { PATIENCE } from '../../src/testing/patience.ts';
import { fromCall } from '../../src/wire/call-values.ts';
import { decodeCallReply, decodeStream, encodeUnsubscribe } from '../../src/wire/call.ts';
import { toReqId } from '../../src/wire/frame.ts';
import { MessageType, PUSHED } from '../../src/wire/message-type.ts';
import { SocketPeer } from './socket-peer.ts';
import { startSocketServer } from './socket-server.ts';
import type { SocketServer } from './socket-server.ts';
import { callOf } from './socket-verbs.ts';

const seen = vi.fn<() => void>();
const aborted = vi.fn<() => void>();

/** Two of them do not fit a frame. */
const HALF = Buffer.alloc(32 * 1024 * 1024);

const CALLS: ReadonlyMap<string, CallHandler> = new Map<string, CallHandler>([
  ['echo', { kind: 'answer', needs: 'read', run: (args) => Promise.resolve(args) }],
  [
    'fail',
    {
      kind: 'answer',
      needs: 'read',
      run: () => Promise.reject(new QuipuError('LOCKED', 'busy', { what: 'x', owner: 'y' })),
    },
  ],
  [
    'bug',
    { kind: 'answer', needs: 'read', run: () => Promise.reject(new Error('secret /etc/passwd')) },
  ],
  ['large', { kind: 'answer', needs: 'read', run: () => Promise.resolve([HALF, HALF]) }],
  ['count', { kind: 'stream', needs: 'read', run: countTo }],
  ['endless', { kind: 'stream', needs: 'read', run: endless }],
  ['length', { kind: 'upload', needs: 'write', run: lengthOf }],
]);

async function* countTo(args: readonly unknown[]): AsyncGenerator<unknown> {
  for (let count = 1; count <= Number(args[0]); count += 1) yield { count };
  if (args[1] !== undefined) throw new QuipuError('CLOSED', 'no more', { what: 'count' });
}

async function* endless(args: readonly unknown[], { signal }: Caller): AsyncGenerator<unknown> {
  signal.addEventListener('abort', aborted);
  while (!signal.aborted) {
    seen();
    yield Buffer.alloc(Number(args[0]));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function lengthOf(
  args: readonly unknown[],
  body: AsyncIterable<Uint8Array>,
  { signal }: Caller,
): Promise<unknown> {
  signal.addEventListener('abort', aborted);
  let length = 0;
  for await (const piece of body) length += piece.length;
  return { args, length };
}

let server: SocketServer;
let peer: SocketPeer;
beforeAll(async () => {
  server = await startSocketServer({ calls: CALLS, limits: { uploads: 2, streams: 2 } });
  peer = await SocketPeer.openQuipu(server.port);
});
afterAll(async () => {
  peer.close();
  await server.close(1000);
});

async function call(method: string, ...args: readonly unknown[]): Promise<unknown> {
  return fromCall(decodeCallReply(await peer.must(...callOf(method, ...args))));
}

async function nextItem(req: bigint): Promise<unknown> {
  const frame = await peer.next();
  expect(frame).toMatchObject({ type: MessageType.STREAM, flags: PUSHED, reqId: toReqId(req) });
  const push = decodeStream(frame.payload);
  if (push.kind === 'item') return fromCall(push.body);
  return push.kind === 'end' ? 'end' : push.error;
}

describe('answers', () => {
  it('come back as they are, with everything a value may be', async () => {
    const args = [1, 2n ** 64n, Buffer.from('bytes'), undefined, { $n: null }];
    expect(await call('echo', ...args)).toEqual(args);
  });

  it('are errors with their facts, or none of the server at all', async () => {
    expect(await peer.refused(...callOf('fail'))).toEqual({
      code: 409,
      detail: 'busy',
      quipu: { name: 'LOCKED', data: '{"what":"x","owner":"y"}' },
    });
    const bug = await peer.refused(...callOf('bug'));
    expect(bug.code).toBe(500);
    expect(JSON.stringify(bug)).not.toContain('secret');
  });

  it('are refused for what is not understood', async () => {
    const unknown = await peer.refused(...callOf('no.such.method'));
    expect(unknown).toMatchObject({ code: 422, quipu: { name: 'UNSUPPORTED' } });
    const bad = [Buffer.from([1, 0, 120, 2, 0, 0, 0, 123, 125, 0, 0, 0, 0])];
    expect(await peer.refused(MessageType.CALL, bad)).toMatchObject({ code: 422 });
    expect(await peer.refused(MessageType.STREAM, [])).toMatchObject({
      detail: 'unknown msg_type',
    });
  });

  it('that do not fit a frame are TOO_LARGE', async () => {
    expect(await peer.refused(...callOf('large'))).toMatchObject({ code: 413 });
    await call('echo');
  });
});

describe('streams', () => {
  it('follow their reply, and end', async () => {
    const req = peer.request(...callOf('count', 3));
    const next = peer.request(...callOf('echo'));
    expect((await peer.next()).reqId).toEqual(toReqId(req));
    const frames = [await peer.next(), await peer.next(), await peer.next(), await peer.next()];
    frames.push(await peer.next());
    expect(frames.filter(({ flags }) => (flags & PUSHED) === 0).map(({ reqId }) => reqId)).toEqual([
      toReqId(next),
    ]);
    const pushes = frames
      .filter(({ flags }) => flags === PUSHED)
      .map((f) => decodeStream(f.payload));
    expect(pushes.map(({ kind }) => kind)).toEqual(['item', 'item', 'item', 'end']);
  });

  it('end with the error of their method', async () => {
    const req = peer.request(...callOf('count', 1, 'fail'));
    await peer.next();
    expect(await nextItem(req)).toEqual({ count: 1 });
    expect(await nextItem(req)).toMatchObject({ code: 503, quipu: { name: 'CLOSED' } });
  });

  it('are asked for no more than is read', async () => {
    seen.mockClear();
    const slow = await SocketPeer.openQuipu(server.port);
    slow.socket.pause();
    slow.request(...callOf('endless', 1024 * 1024));
    await vi.waitFor(() => expect(seen.mock.calls.length).toBeGreaterThan(0), PATIENCE);
    let before = -1;
    await vi.waitFor(
      () => {
        const now = seen.mock.calls.length;
        const stopped = now === before;
        before = now;
        expect(stopped).toBe(true);
      },
      { ...PATIENCE, interval: 100 },
    );
    // What fits into the buffers of both sockets, and one.
    expect(before).toBeLessThan(30);
    aborted.mockClear();
    slow.close();
    await vi.waitFor(() => expect(aborted).toHaveBeenCalled(), PATIENCE);
  });

  it('end when the client wants no more, or goes', async () => {
    aborted.mockClear();
    const req = peer.request(...callOf('endless', 10));
    await peer.next();
    const reply = peer.request(MessageType.UNSUBSCRIBE, encodeUnsubscribe(toReqId(req)));
    let frame = await peer.next();
    while (frame.type === MessageType.STREAM) frame = await peer.next();
    expect(frame.reqId).toEqual(toReqId(reply));
    expect(aborted).toHaveBeenCalledTimes(1);
    await call('echo');
    expect(peer.waiting).toBe(0);

    const other = await SocketPeer.openQuipu(server.port);
    await other.ask(...callOf('endless', 10));
    other.close();
    await vi.waitFor(() => expect(aborted).toHaveBeenCalledTimes(2), PATIENCE);
  });

  it('are a few at a time', async () => {
    const other = await SocketPeer.openQuipu(server.port);
    other.request(...callOf('endless', 1));
    other.request(...callOf('endless', 1));
    other.request(...callOf('endless', 1));
    let frame = await other.next();
    while (frame.type !== MessageType.ERROR) frame = await other.next();
    expect(frame.payload.readUInt32LE()).toBe(429);
    other.close();
  });
});

describe('uploads', () => {
  it('take a body in pieces, sent in one go', async () => {
    const req = peer.request(...callOf('length', 'some', 'arguments'));
    const id = toReqId(req);
    for (let count = 0; count < 20; count += 1) {
      peer.request(...callOf('upload.piece', id, Buffer.alloc(1024 * 1024)));
    }
    peer.request(...callOf('upload.end', id));
    for (let count = 0; count < 21; count += 1) {
      const reply = await peer.next();
      expect(fromCall(decodeCallReply(reply.payload))).toBeUndefined();
    }
    const answer = fromCall(decodeCallReply((await peer.next()).payload));
    expect(answer).toEqual({ args: ['some', 'arguments'], length: 20 * 1024 * 1024 });
    expect(await peer.refused(...callOf('upload.piece', id, Buffer.alloc(1)))).toMatchObject({
      code: 404,
    });
  });

  it('take an empty body', async () => {
    const id = toReqId(peer.request(...callOf('length')));
    await peer.next();
    expect(await call('upload.end', id)).toEqual({ args: [], length: 0 });
  });

  it('are given up with UNSUBSCRIBE and with the connection', async () => {
    aborted.mockClear();
    const id = toReqId(peer.request(...callOf('length')));
    await peer.next();
    await peer.must(MessageType.UNSUBSCRIBE, encodeUnsubscribe(id));
    expect(aborted).toHaveBeenCalledTimes(1);
    expect(await peer.refused(...callOf('upload.end', id))).toMatchObject({ code: 404 });
    const other = await SocketPeer.openQuipu(server.port);
    await other.ask(...callOf('length'));
    other.close();
    await vi.waitFor(() => expect(aborted).toHaveBeenCalledTimes(2), PATIENCE);
  });

  it('are refused for what is not theirs', async () => {
    for (const id of [undefined, 5, Buffer.alloc(7)]) {
      expect(await peer.refused(...callOf('upload.piece', id, Buffer.alloc(1)))).toMatchObject({
        code: 422,
      });
    }
    const id = toReqId(peer.request(...callOf('length')));
    await peer.next();
    expect(await peer.refused(...callOf('upload.piece', id, 'text'))).toMatchObject({ code: 422 });
    await peer.ask(...callOf('length'));
    expect(await peer.refused(...callOf('length'))).toMatchObject({ code: 429 });
  });
});
