import { describe, expect, it } from 'vitest';
import { toContextId } from '../../src/base/brand.ts';
import { encodeAppendTurn } from '../../src/wire/append-turn.ts';
import { MessageType } from '../../src/wire/message-type.ts';
import { hashBytes } from '../../src/base/hash.ts';
import { encodeFrame } from '../../src/wire/frame.ts';
import type { Frame } from '../../src/wire/frame.ts';
import { documentedFrames } from '../wire/documented-frames.ts';
import { SocketPeer } from './socket-peer.ts';
import { startSocketServer } from './socket-server.ts';

const frames = documentedFrames();

function documented(name: string): Buffer {
  const frame = frames.get(name);
  if (frame === undefined) throw new Error(`there is no example "${name}"`);
  return frame;
}

function hexOf({ type, flags, reqId, payload }: Frame): string {
  return Buffer.from(encodeFrame(type, flags, reqId, payload)).toString('hex');
}

async function expectReply(peer: SocketPeer, name: string): Promise<void> {
  expect(hexOf(await peer.next()), name).toBe(documented(name).toString('hex'));
}

describe('a conversation as documented', () => {
  it('gets the documented replies, byte for byte', async () => {
    await using server = await startSocketServer({ nextSessionId: () => 7n });
    const peer = await SocketPeer.open(server.port);
    const dialogue = [
      ['HELLO, legacy', 'HELLO reply'],
      ['HELLO', 'HELLO reply'],
      ['CTX_CREATE', 'CTX_CREATE reply'],
      ['APPEND_TURN', 'APPEND_TURN reply'],
      // The same key again: the same answer, and nothing is stored.
      ['APPEND_TURN', 'APPEND_TURN reply'],
      ['GET_LAST', 'GET_LAST reply'],
      ['GET_HEAD of an unknown context', 'ERROR'],
    ] as const;
    for (const [request, reply] of dialogue) {
      peer.send(documented(request));
      await expectReply(peer, reply);
    }
    peer.send(documented('HELLO with meta'));
    await expectReply(peer, 'HELLO reply with caps');
    expect((await server.served.engine.stats()).turns).toBe(1);
    peer.close();
  });

  it('gets them just as well when everything is sent at once', async () => {
    await using server = await startSocketServer({ nextSessionId: () => 7n });
    const peer = await SocketPeer.open(server.port);
    const asked = ['HELLO', 'CTX_CREATE', 'APPEND_TURN', 'GET_LAST'];
    peer.send(Buffer.concat(asked.map(documented)));
    for (const name of asked) await expectReply(peer, `${name} reply`);
    expect(peer.waiting).toBe(0);
    peer.close();
  });

  it('follows an open turn', async () => {
    await using server = await startSocketServer();
    const { engine } = server.served;
    const reader = await SocketPeer.openQuipu(server.port);
    const writer = await SocketPeer.openQuipu(server.port);
    writer.send(documented('CTX_CREATE'), documented('APPEND_TURN'));
    await expectReply(writer, 'CTX_CREATE reply');
    await expectReply(writer, 'APPEND_TURN reply');

    reader.send(documented('SUBSCRIBE'));
    await expectReply(reader, 'SUBSCRIBE reply');
    await expectReply(reader, 'push CAUGHT_UP');
    const piece = new Uint8Array();
    const about = { type: 'text', version: 1, encoding: 3, compression: 0 };
    const turn = { ...about, rawLength: 0, hash: hashBytes(piece), payload: piece };
    const open = { context: 1n, parent: 0n, turn, key: undefined, fsRoot: undefined };
    const parts = encodeAppendTurn({ ...open, expectHead: false, open: true, wantRow: false });
    await writer.must(MessageType.APPEND_TURN, parts, 4);
    expect((await engine.getHead(toContextId(1)))?.openTurn).toBe(2n);
    await reader.next();
    writer.send(documented('APPEND_DELTA'));
    await expectReply(writer, 'APPEND_DELTA reply');
    await expectReply(reader, 'push DELTA');
    reader.close();
    writer.close();
  });
});
