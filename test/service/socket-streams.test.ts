import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashBytes } from '../../src/base/hash.ts';
import type { Seal, PatchRequest } from '../../src/wire/cxdb/messages.ts';
import { RAW_BYTES_MAX } from '../../src/wire/limits.ts';
import { MessageType } from '../../src/wire/message-type.ts';
import { SocketPeer } from './socket-peer.ts';
import { startSocketServer } from './socket-server.ts';
import type { SocketServer } from './socket-server.ts';
import { append, appendOf, createContext, deltaOf, last, textsOf } from './socket-verbs.ts';
import {
  decodeAck,
  decodeDeltaAck,
  decodePatchReply,
  encodePatch,
  encodeSeal,
} from '../wire/cxdb-client.ts';

let server: SocketServer;
let peer: SocketPeer;
beforeAll(async () => {
  server = await startSocketServer();
  peer = await SocketPeer.openQuipu(server.port);
});
afterAll(async () => {
  peer.close();
  await server.close(1000);
});

async function open(context: bigint, text = ''): Promise<bigint> {
  const ack = await append(peer, context, text, { open: true });
  expect(ack.hash).toBeUndefined();
  return ack.turn;
}

function sealOf(context: bigint, turn: bigint, text: string, rest: Partial<Seal> = {}) {
  const seal: Seal = {
    context,
    turn,
    outcome: 'complete',
    totalLength: Buffer.byteLength(text),
    hash: hashBytes(Buffer.from(text)),
    reason: '',
    ...rest,
  };
  return [MessageType.SEAL, encodeSeal(seal)] as const;
}

describe('open turns', () => {
  it('grow, are seen by who asks for them, and become the head when sealed', async () => {
    const context = await createContext(peer);
    const before = await append(peer, context, 'before');
    const turn = await open(context, 'one');
    expect(textsOf(await last(peer, context, 10))).toEqual(['before']);
    const shown = await last(peer, context, 10, { wantOpen: true, wantExt: true });
    expect(textsOf(shown)).toEqual(['before', 'one']);
    expect(shown).toMatchObject({ head: before.turn, ext: [{ flags: 0 }, { flags: 1 }] });
    expect(await peer.refused(...appendOf(context, 'x'))).toMatchObject({ code: 409 });

    const ack = decodeDeltaAck(await peer.must(...deltaOf(context, turn, 3, ' two')));
    expect(ack).toEqual({ turn, totalLength: 7 });
    const sealed = decodeAck(await peer.must(...sealOf(context, turn, 'one two')));
    expect(sealed).toEqual({ context, turn, depth: 1, hash: hashBytes(Buffer.from('one two')) });
    expect(textsOf(await last(peer, context, 10))).toEqual(['before', 'one two']);
  });

  it('take deltas and the seal in one go', async () => {
    const context = await createContext(peer);
    const turn = await open(context);
    let text = '';
    for (let index = 0; index < 50; index += 1) {
      peer.request(...deltaOf(context, turn, text.length, `word ${index} `));
      text += `word ${index} `;
    }
    peer.request(...sealOf(context, turn, text));
    for (let index = 0; index < 50; index += 1) {
      expect((await peer.next()).type).toBe(MessageType.APPEND_DELTA);
    }
    expect(decodeAck((await peer.next()).payload).hash).toBe(hashBytes(Buffer.from(text)));
  });

  it('take a retry, and no gap', async () => {
    const context = await createContext(peer);
    const turn = await open(context, 'abc');
    const totalOf = async (offset: number, text: string): Promise<number> =>
      decodeDeltaAck(await peer.must(...deltaOf(context, turn, offset, text))).totalLength;
    expect(await totalOf(1, 'bcd')).toBe(4);
    expect(await totalOf(0, 'ab')).toBe(4);
    expect(await totalOf(4, 'e')).toBe(5);
    const gap = await peer.refused(...deltaOf(context, turn, 9, 'x'));
    expect(gap.code).toBe(422);
    expect(gap.detail).toContain('5 bytes');
    expect(await peer.refused(...deltaOf(context, turn, 0, 'x'))).toMatchObject({ code: 422 });
    // A gap among deltas sent at once leaves those behind it without effect, too.
    peer.request(...deltaOf(context, turn, 5, 'f'));
    peer.request(...deltaOf(context, turn, 7, 'h'));
    peer.request(...deltaOf(context, turn, 8, 'i'));
    expect((await peer.next()).type).toBe(MessageType.APPEND_DELTA);
    expect(await peer.error()).toMatchObject({ code: 422 });
    expect(await peer.error()).toMatchObject({ code: 422 });
    expect(await totalOf(6, 'g')).toBe(7);
    const tooLong = await peer.refused(...deltaOf(context, turn, RAW_BYTES_MAX, 'x'));
    expect(tooLong).toMatchObject({ code: 413 });
  });

  it('are of one context alone', async () => {
    const [context, other] = [await createContext(peer), await createContext(peer)];
    const turn = await open(context);
    const wrong = await SocketPeer.openQuipu(server.port);
    expect(await wrong.refused(...deltaOf(other, turn, 0, 'x'))).toMatchObject({ code: 404 });
    expect(await wrong.refused(...deltaOf(99_999n, turn, 0, 'x'))).toMatchObject({ code: 404 });
    expect(await wrong.refused(...sealOf(other, turn, ''))).toMatchObject({ code: 404 });
    // Another connection may well go on with the turn.
    await wrong.must(...deltaOf(context, turn, 0, 'x'));
    wrong.close();
  });

  it('outlive the connection that opened them', async () => {
    const context = await createContext(peer);
    const writer = await SocketPeer.openQuipu(server.port);
    const { turn } = await append(writer, context, 'begun', { open: true });
    writer.close();
    await writer.ended();
    await peer.must(...deltaOf(context, turn, 5, ', done'));
    await peer.must(...sealOf(context, turn, 'begun, done'));
    expect(textsOf(await last(peer, context, 1))).toEqual(['begun, done']);
  });

  it('take no key', async () => {
    const context = await createContext(peer);
    const keyed = appendOf(context, '', { open: true, key: Buffer.from('k') });
    expect(await peer.refused(...keyed)).toMatchObject({ code: 422 });
    await append(peer, context, 'not locked');
  });
});

describe('seals', () => {
  it('are the same when repeated, and refused when they differ', async () => {
    const context = await createContext(peer);
    const turn = await open(context, 'text');
    expect(await peer.refused(...sealOf(context, turn, 'other'))).toMatchObject({ code: 422 });
    expect(await peer.refused(...sealOf(context, turn, 'texx'))).toMatchObject({ code: 422 });
    const abort = { outcome: 'aborted', reason: 'enough', hash: undefined } as const;
    const first = await peer.must(...sealOf(context, turn, 'text', abort));
    expect(await peer.must(...sealOf(context, turn, 'text', abort))).toEqual(first);
    expect(await peer.refused(...sealOf(context, turn, 'text'))).toMatchObject({ code: 422 });
    const { ext } = await last(peer, context, 1, { wantExt: true });
    expect(ext).toMatchObject([{ flags: 2 }]);
    const stored = await server.served.store.contexts.turn(turn as never);
    expect(stored).toMatchObject({ outcome: 'aborted', reason: 'enough' });
  });
});

describe('patches', () => {
  const patchOf = (turn: bigint, text: string, rest: Partial<PatchRequest> = {}) => {
    const payload = Buffer.from(text);
    const base = { turn, expectSeq: undefined, hash: hashBytes(payload), payload, key: undefined };
    return [MessageType.PATCH, encodePatch({ ...base, ...rest })] as const;
  };

  it('lie over a turn, and can be looked under', async () => {
    const context = await createContext(peer);
    const { turn, hash } = await append(peer, context, 'first');
    const { seq } = decodePatchReply(await peer.must(...patchOf(turn, 'second')));
    const shown = await last(peer, context, 1, { wantExt: true });
    expect(textsOf(shown)).toEqual(['second']);
    expect(shown).toMatchObject({ turns: [{ encoding: 3 }], ext: [{ flags: 8, patchSeq: seq }] });
    expect(textsOf(await last(peer, context, 1, { asOf: 0n }))).toEqual(['first']);

    const expected = { expectSeq: seq };
    await peer.must(...patchOf(turn, 'why', { ...expected, hash: undefined }));
    const gone = await last(peer, context, 1, { wantExt: true });
    expect(gone.turns).toMatchObject([{ size: 0, hash: undefined }]);
    expect(gone.ext).toMatchObject([{ flags: 24 }]);
    const moved = await peer.refused(...patchOf(turn, 'x', expected));
    expect(moved).toMatchObject({ code: 409, quipu: { name: 'HEAD_MOVED' } });
    const impossible = await peer.refused(...patchOf(turn, 'x', { expectSeq: 2n ** 64n - 1n }));
    expect(impossible).toMatchObject({ code: 409 });
    // The bytes are stored already, so the hash alone will do.
    await peer.must(...patchOf(turn, '', { hash: hash! }));
    expect(textsOf(await last(peer, context, 1))).toEqual(['first']);
    await peer.must(...patchOf(turn, ''));
    expect(textsOf(await last(peer, context, 1))).toEqual(['']);
  });

  it('are made once for one key', async () => {
    const context = await createContext(peer);
    const { turn } = await append(peer, context, 'first');
    const key = Buffer.from([0xff]);
    await peer.must(...patchOf(turn, 'zero'));
    const first = await peer.must(...patchOf(turn, 'once', { key }));
    await peer.must(...patchOf(turn, 'later'));
    expect(await peer.must(...patchOf(turn, 'once', { key }))).toEqual(first);
    expect(textsOf(await last(peer, context, 1))).toEqual(['later']);
    const other = await peer.refused(...patchOf(turn, 'twice', { key }));
    expect(other).toMatchObject({ code: 409, quipu: { name: 'IDEMPOTENCY_CONFLICT' } });
    const expectSeq = decodePatchReply(first).seq;
    const moved = patchOf(turn, 'x', { key: Buffer.from('k'), expectSeq });
    expect(await peer.refused(...moved)).toMatchObject({
      code: 409,
      quipu: { name: 'HEAD_MOVED' },
    });
  });

  it('leave no hash of their payload with the key, and keys of older versions count', async () => {
    const { engine } = server.served;
    const context = await createContext(peer);
    const { turn } = await append(peer, context, 'first');
    const key = Buffer.from('k');
    const first = await peer.must(...patchOf(turn, 'a password', { key }));
    const [name = ''] = await engine.listDocs(`patch-keys/${turn}/`, 10);
    const { content, version } = (await engine.getDoc(name))!;
    const payload = hashBytes(Buffer.from('a password'));
    expect(content).not.toContain(payload);
    const old = JSON.stringify({ payload, tombstone: false, after: 0 });
    await engine.commit({ docs: [{ name, content: old, expectedVersion: version }] });
    expect(await peer.must(...patchOf(turn, 'a password', { key }))).toEqual(first);
  });

  it('are made once also when the same request comes over two connections', async () => {
    const context = await createContext(peer);
    const { turn } = await append(peer, context, 'first');
    const other = await SocketPeer.openQuipu(server.port);
    const patch = patchOf(turn, 'once', { key: Buffer.from('k') });
    const replies = await Promise.all([peer.must(...patch), other.must(...patch)]);
    expect(replies[0]).toEqual(replies[1]);
    expect((await server.served.engine.getPatches([turn as never])).length).toBe(1);
    other.close();
  });

  it('are refused when they name what is not there', async () => {
    const context = await createContext(peer);
    const { turn } = await append(peer, context, 'x');
    const unknown = hashBytes(Buffer.from('never stored'));
    expect(await peer.refused(...patchOf(turn, '', { hash: unknown }))).toMatchObject({
      code: 404,
    });
    expect(await peer.refused(...patchOf(turn, 'x', { hash: unknown }))).toMatchObject({
      code: 422,
    });
    expect(await peer.refused(...patchOf(99_999n, 'x'))).toMatchObject({ code: 404 });
    const opened = await open(context);
    expect(await peer.refused(...patchOf(opened, 'x'))).toMatchObject({ code: 422 });
    const longReason = patchOf(turn, 'x'.repeat(4097), { hash: undefined });
    expect(await peer.refused(...longReason)).toMatchObject({ code: 422 });
  });
});
