import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Access, Identity, Scope } from '../../src/server/access/access.ts';
import type { AnsweredRequest } from '../../src/server/request/request.ts';
import { decodeHelloReply, encodeHello, helloMeta } from '../../src/wire/hello.ts';
import { MessageType } from '../../src/wire/message-type.ts';
import { SocketPeer } from './socket-peer.ts';
import { startSocketServer } from './socket-server.ts';
import { callOf, createContext } from './socket-verbs.ts';
import type { Message } from './socket-verbs.ts';
import { PATIENCE } from '../../src/testing/patience.ts';
import { undisturbed } from '../support/undisturbed.ts';
import { encodeCtxCreate, encodeSubscribe } from '../wire/cxdb-client.ts';

const CREATE = [MessageType.CTX_CREATE, encodeCtxCreate(0n)] as const;

function helloOf(token: string | undefined) {
  const meta = helloMeta({ token, quipu: true });
  return [MessageType.HELLO, encodeHello({ version: 1, tag: 'agent', meta })] as const;
}

/** Tokens are the names of scopes. */
function tokens(): { access: Access; revoke: () => void } {
  const end = new AbortController();
  const known = new Set<string>(['read', 'write', 'admin']);
  const identify = (token: string | undefined): Promise<Identity | undefined> => {
    if (token === undefined || !known.has(token)) return Promise.resolve(undefined);
    return Promise.resolve({ name: token, scope: token as Scope, ended: end.signal });
  };
  return { access: { tokensNeeded: true, identify }, revoke: () => end.abort() };
}

describe('where tokens are needed', () => {
  it('nobody is heard before a valid one', async () => {
    await using server = await startSocketServer({
      access: tokens().access,
      limits: { discardMs: 100 },
    });
    const messages: readonly Message[] = [CREATE, helloOf(undefined), helloOf('wrong'), [77, []]];
    for (const message of messages) {
      const peer = await SocketPeer.open(server.port);
      peer.request(...message);
      peer.request(...CREATE);
      expect(await peer.error()).toMatchObject({ code: 401 });
      await peer.ended();
      expect(peer.waiting).toBe(0);
    }
    const large = await SocketPeer.open(server.port);
    large.request(MessageType.HELLO, [Buffer.alloc(70_000)]);
    expect(await large.error()).toMatchObject({ code: 413 });
    await large.ended();
    expect(await server.served.engine.stats()).toMatchObject({ contexts: 0 });
  });

  it('a scope is not overstepped', async () => {
    await using server = await startSocketServer({ access: tokens().access });
    const peer = await SocketPeer.open(server.port);
    await peer.must(...helloOf('read'));
    const forbidden = await peer.refused(...CREATE);
    expect(forbidden).toMatchObject({
      code: 403,
      quipu: { name: 'FORBIDDEN', data: '{"scope":"write"}' },
    });
    // A later HELLO replaces who it is, and is sent on without waiting.
    const first = peer.request(...helloOf('write'));
    peer.request(...CREATE);
    expect((await peer.next()).reqId.readBigUInt64LE()).toBe(first);
    expect((await peer.next()).type).toBe(MessageType.CTX_CREATE);
    expect(await peer.refused(...helloOf('wrong'))).toMatchObject({ code: 401 });
    await peer.ended();
  });

  it('a token that is revoked ends what it opened', async () => {
    const { access, revoke } = tokens();
    await using server = await startSocketServer({ access });
    const peer = await SocketPeer.open(server.port);
    await peer.must(...helloOf('write'));
    const context = await createContext(peer);
    await peer.ask(MessageType.SUBSCRIBE, encodeSubscribe({ context, after: 0n, want: 0 }));
    await peer.next();
    revoke();
    expect(await peer.error()).toMatchObject({ code: 401 });
    await peer.ended();
  });

  it(
    'silence is not waited for',
    undisturbed(50, async () => {
      const limits = { helloMs: 200 };
      await using server = await startSocketServer({ access: tokens().access, limits });
      const peer = await SocketPeer.open(server.port);
      await peer.ended();
      await using open = await startSocketServer({ limits });
      // Who has said something may be idle, and where no token is needed that is enough.
      const idle = await SocketPeer.open(open.port);
      onTestFinished(() => idle.close());
      expect(await createContext(idle)).toBe(1n);
      const silent = await SocketPeer.open(open.port);
      await silent.ended();
      await sleep(limits.helloMs);
      expect(await createContext(idle)).toBe(2n);
      idle.close();
    }),
  );
});

describe('HELLO', () => {
  it('gives each connection a session, and always the same one', async () => {
    await using server = await startSocketServer();
    const sessions = new Set<bigint>();
    for (let count = 0; count < 3; count += 1) {
      const peer = await SocketPeer.open(server.port);
      const first = decodeHelloReply(await peer.must(...helloOf(undefined)));
      const again = decodeHelloReply(await peer.must(...helloOf(undefined)));
      expect(again).toEqual(first);
      expect(JSON.parse(first.caps!)).toMatchObject({ server: 'quipu' });
      sessions.add(first.sessionId);
      peer.close();
    }
    expect(sessions.size).toBe(3);
    expect(sessions.has(0n)).toBe(false);
  });
});

describe('hooks', () => {
  it('hear of connections, requests and bytes, and never of a token', async () => {
    const answered: AnsweredRequest[] = [];
    const [opened, closed] = [vi.fn<() => void>(), vi.fn<() => void>()];
    const [received, sent] = [vi.fn<(bytes: number) => void>(), vi.fn<(bytes: number) => void>()];
    const hooks = {
      opened,
      closed,
      received,
      sent,
      answered: (a: AnsweredRequest) => answered.push(a),
    };
    const server = await startSocketServer({ access: tokens().access, hooks });
    const peer = await SocketPeer.open(server.port);
    await peer.must(...helloOf('write'));
    await createContext(peer);
    await peer.refused(...callOf('made.up'));
    peer.close();
    await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(1), PATIENCE);
    await server.close(1000);
    expect(answered.map(({ message, code }) => `${message} ${code}`)).toEqual([
      'HELLO 0',
      'CTX_CREATE 0',
      'CALL 422',
    ]);
    expect(answered[1]).toMatchObject({
      session: { identity: 'write', tag: 'agent' },
      bytesIn: 8,
      bytesOut: 36,
    });
    expect(opened).toHaveBeenCalledTimes(1);
    expect(received).toHaveBeenCalled();
    expect(sent).toHaveBeenCalledTimes(3);
  });
});
