import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openAccess } from '../../src/server/access/access.ts';
import type { CallHandler } from '../../src/server/calls/call-handler.ts';
import { MessageType } from '../../src/wire/message-type.ts';
import { SocketPeer, errorIn } from './socket-peer.ts';
import { startSocketServer } from './socket-server.ts';
import { appendOf, callOf, createContext } from './socket-verbs.ts';
import { encodeSubscribe } from '../wire/cxdb-client.ts';

describe('going away', () => {
  it('answers what was read, tells who listens, and then ends', async () => {
    const server = await startSocketServer({ durability: 'safe' });
    const [writer, reader] = [
      await SocketPeer.openQuipu(server.port),
      await SocketPeer.openQuipu(server.port),
    ];
    const context = await createContext(writer);
    await reader.ask(MessageType.SUBSCRIBE, encodeSubscribe({ context, after: 0n, want: 0 }));
    await reader.next();
    for (let index = 0; index < 50; index += 1) writer.request(...appendOf(context, `${index}`));
    await writer.next();
    const closing = server.server.close(5000);
    let acknowledged = 1;
    const refused: number[] = [];
    for (let index = 1; index < 50; index += 1) {
      const reply = await writer.next();
      if (reply.type === MessageType.APPEND_TURN) acknowledged += 1;
      else refused.push(errorIn(reply).code);
    }
    expect(new Set(refused).size === 0 || refused.every((code) => code === 503)).toBe(true);
    await writer.ended();
    let frame = await reader.next();
    while (frame.type !== MessageType.ERROR) frame = await reader.next();
    expect(errorIn(frame)).toMatchObject({ code: 503 });
    await closing;
    expect(await server.served.engine.getHead(context as never)).toMatchObject({
      headDepth: acknowledged - 1,
    });
    await expect(SocketPeer.open(server.port)).rejects.toThrow('ECONNREFUSED');
    await server.close(0);
  });

  it('says last of all, to who knows Quipu, that the rest was not carried out', async () => {
    const server = await startSocketServer();
    const quipu = await SocketPeer.openQuipu(server.port);
    const stock = await SocketPeer.open(server.port);
    await createContext(stock);
    await server.close(1000);
    const goodbye = await quipu.next();
    expect(goodbye.reqId).toEqual(Buffer.alloc(8));
    expect(errorIn(goodbye)).toMatchObject({ code: 503 });
    await quipu.ended();
    await stock.ended();
    expect([quipu.waiting, stock.waiting]).toEqual([0, 0]);
  });

  it('does not wait longer than it was told', async () => {
    const never: CallHandler = {
      kind: 'answer',
      needs: 'read',
      run: () => new Promise(() => undefined),
    };
    const server = await startSocketServer({ calls: new Map([['never', never]]) });
    const peer = await SocketPeer.openQuipu(server.port);
    peer.request(...callOf('never'));
    await sleep(20);
    const start = performance.now();
    await server.close(100);
    expect(performance.now() - start).toBeLessThan(10_000);
    await peer.ended();
  });
});

describe('a Unix socket', () => {
  it('speaks the same protocol', async () => {
    await using server = await startSocketServer();
    const path = join(tmpdir(), `quipu-${process.pid}.sock`);
    const listening = await server.server.listen({ path }, openAccess);
    expect(listening).toMatchObject({ address: path, port: undefined });
    const peer = new SocketPeer(connect({ path, allowHalfOpen: true }));
    expect(await createContext(peer)).toBe(1n);
    peer.close();
    await listening.close(1000);
  });
});
