import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { hashBytes } from '../../src/base/hash.ts';
import type { CallHandler } from '../../src/server/calls/call-handler.ts';
import { MessageType } from '../../src/wire/message-type.ts';
import { undisturbed } from '../support/undisturbed.ts';
import { SocketPeer, errorIn } from './socket-peer.ts';
import { startSocketServer } from './socket-server.ts';
import { append, callOf, createContext, deltaOf, last } from './socket-verbs.ts';
import { PATIENCE } from '../../src/testing/patience.ts';
import { encodeCtxCreate, encodePutBlob } from '../wire/cxdb-client.ts';

const CREATE = [MessageType.CTX_CREATE, encodeCtxCreate(0n)] as const;

describe('limits', () => {
  it('on connections: the first frame of one too many gets 503', async () => {
    await using server = await startSocketServer({ limits: { connections: 2 } });
    const [a, b] = [await SocketPeer.open(server.port), await SocketPeer.open(server.port)];
    await Promise.all([createContext(a), createContext(b)]);
    const refused = await SocketPeer.open(server.port);
    const req = refused.request(...CREATE);
    const frame = await refused.next();
    expect(errorIn(frame).code).toBe(503);
    expect(frame.reqId.readBigUInt64LE()).toBe(req);
    await refused.ended();
    a.close();
    await vi.waitFor(() => expect(server.server.connections).toBe(1), PATIENCE);
    const next = await SocketPeer.open(server.port);
    await createContext(next);
    next.close();
    b.close();
  });

  it(
    'on time: what takes longer gets 504, and its late answer is never sent',
    undisturbed(150, async () => {
      let finish = (): void => undefined;
      const slow: CallHandler = {
        kind: 'answer',
        needs: 'read',
        run: () =>
          new Promise((resolve) => {
            finish = () => resolve('late');
          }),
      };
      const calls = new Map([['slow', slow]]);
      await using server = await startSocketServer({ calls, limits: { answerMs: 400 } });
      const peer = await SocketPeer.openQuipu(server.port);
      peer.request(...callOf('slow'));
      const second = peer.request(...CREATE);
      expect(await peer.error()).toMatchObject({ code: 504, quipu: { name: 'TIMEOUT' } });
      expect((await peer.next()).reqId.readBigUInt64LE()).toBe(second);
      finish();
      await createContext(peer);
      expect(peer.waiting).toBe(0);
      peer.close();
    }),
  );

  it('on all that is held: a large request too many gets 429, and may be sent again', async () => {
    let finish = (): void => undefined;
    const hold: CallHandler = {
      kind: 'answer',
      needs: 'read',
      run: () =>
        new Promise((resolve) => {
          finish = () => resolve(1);
        }),
    };
    const calls = new Map([['hold', hold]]);
    await using server = await startSocketServer({ calls, limits: { totalBytes: 1_000_000 } });
    const [holder, peer] = [
      await SocketPeer.openQuipu(server.port),
      await SocketPeer.openQuipu(server.port),
    ];
    holder.request(...callOf('hold', Buffer.alloc(1_000_000)));
    await vi.waitFor(async () => {
      const bytes = Buffer.alloc(2_000_000);
      const put = encodePutBlob({ hash: hashBytes(bytes), bytes });
      expect(await peer.refused(MessageType.PUT_BLOB, put)).toMatchObject({ code: 429 });
    }, PATIENCE);
    await createContext(peer);
    finish();
    await holder.next();
    const bytes = Buffer.alloc(2_000_000, 1);
    await peer.must(MessageType.PUT_BLOB, encodePutBlob({ hash: hashBytes(bytes), bytes }));
    peer.close();
    holder.close();
  });

  it(
    'on the silence of who writes a turn: it is sealed as interrupted',
    undisturbed(150, async () => {
      await using server = await startSocketServer({ openTurnLeaseMs: 500 });
      const peer = await SocketPeer.openQuipu(server.port);
      const context = await createContext(peer);
      const { turn } = await append(peer, context, 'so', { open: true });
      for (let index = 0; index < 4; index += 1) {
        await sleep(200);
        await peer.must(...deltaOf(context, turn, 2 + index, '.'));
      }
      peer.close();
      const other = await SocketPeer.openQuipu(server.port);
      await vi.waitFor(async () => {
        const { ext } = await last(other, context, 1, { wantExt: true });
        expect(ext).toMatchObject([{ flags: 4 }]);
      }, PATIENCE);
      await append(other, context, 'next');
      other.close();
    }),
  );
});
