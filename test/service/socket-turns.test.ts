import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Hash } from '../../src/base/brand.ts';
import { compress } from '../../src/base/compress.ts';
import { hashBytes } from '../../src/base/hash.ts';
import { encodeAttachFs } from '../../src/wire/cxdb/messages.ts';
import type { AppendBatch } from '../../src/wire/cxdb/messages.ts';
import { MessageType } from '../../src/wire/message-type.ts';
import { SocketPeer } from './socket-peer.ts';
import { startSocketServer } from './socket-server.ts';
import type { SocketServer } from './socket-server.ts';
import {
  append,
  appendOf,
  createContext,
  last,
  lastOf,
  textsOf,
  turnInput,
} from './socket-verbs.ts';
import {
  decodeAck,
  decodeBatchAck,
  decodeGetBlobReply,
  decodeHead,
  decodePutBlobReply,
  encodeAppendBatch,
  encodeCtxCreate,
  encodeGetBlob,
  encodeGetHead,
  encodePutBlob,
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

describe('contexts', () => {
  it('are created, forked and looked up', async () => {
    const context = await createContext(peer);
    const { turn } = await append(peer, context, 'root');
    const fork = decodeHead(await peer.must(MessageType.CTX_FORK, encodeCtxCreate(turn)));
    expect(fork).toMatchObject({ head: turn, depth: 0 });
    expect(decodeHead(await peer.must(MessageType.GET_HEAD, encodeGetHead(fork.context)))).toEqual(
      fork,
    );
  });

  it('say what is missing, also for ids that cannot be', async () => {
    const plain = await SocketPeer.open(server.port);
    for (const id of [999n, 2n ** 64n - 1n]) {
      const base = await plain.refused(MessageType.CTX_CREATE, encodeCtxCreate(id));
      expect(base).toEqual({ code: 404, detail: 'base turn', quipu: undefined });
      const head = await plain.refused(MessageType.GET_HEAD, encodeGetHead(id));
      expect(head).toEqual({ code: 404, detail: 'context', quipu: undefined });
    }
    plain.close();
  });
});

describe('appends', () => {
  it('keep their order however fast they are sent, whatever their size', async () => {
    const context = await createContext(peer);
    const sizes = [10, 400_000, 10, 10, 300_000, 10, 70_000, 10];
    for (const [index, size] of sizes.entries()) {
      peer.request(...appendOf(context, Buffer.alloc(size, index)));
    }
    peer.request(...lastOf(context, 100, { payload: false }));
    let parent = 0n;
    for (const depth of sizes.keys()) {
      const ack = decodeAck((await peer.next()).payload);
      expect(ack.depth).toBe(depth);
      expect(ack.turn).toBeGreaterThan(parent);
      parent = ack.turn;
    }
    const page = (await peer.next()).payload;
    expect(page.readUInt32LE()).toBe(sizes.length);
  });

  it('are unpacked, and stored as they were', async () => {
    const context = await createContext(peer);
    const raw = Buffer.from('text that repeats, text that repeats, text that repeats');
    const turn = { ...turnInput(raw), payload: compress(raw), compression: 1 };
    const ack = await append(peer, context, raw, { turn });
    expect(ack.hash).toBe(hashBytes(raw));
    expect(textsOf(await last(peer, context, 1))).toEqual([String(raw)]);
  });

  it.each([
    ['another hash', { hash: hashBytes(Buffer.from('other')) }],
    ['another length', { rawLength: 5 }],
    ['bytes that are not zstd', { compression: 1 }],
  ])('are refused with %s, and nothing is stored', async (_, wrong) => {
    const context = await createContext(peer);
    const turn = { ...turnInput('text'), ...wrong };
    expect(await peer.refused(...appendOf(context, '', { turn }))).toMatchObject({ code: 422 });
    const large = { ...turnInput(Buffer.alloc(300_000)), ...wrong };
    expect(await peer.refused(...appendOf(context, '', { turn: large }))).toMatchObject({
      code: 422,
    });
    expect((await last(peer, context, 10)).turns).toEqual([]);
  });

  it('are refused where there is no context or parent', async () => {
    const context = await createContext(peer);
    const plain = await SocketPeer.open(server.port);
    const cases = [
      [appendOf(99_999n, 'x'), 'context'],
      [appendOf(0n, 'x'), 'context'],
      [appendOf(context, 'x', { parent: 99_999n }), 'parent turn'],
      [appendOf(context, 'x', { fsRoot: hashBytes(Buffer.from('no root')) }), 'fs root tree blob'],
    ] as const;
    for (const [message, detail] of cases) {
      expect(await plain.refused(...message)).toEqual({ code: 404, detail, quipu: undefined });
    }
    plain.close();
  });

  it('are made once for one key, which may be any bytes', async () => {
    const context = await createContext(peer);
    for (const key of [Buffer.from('k'), Buffer.from([0xff, 0x00]), Buffer.from([0xfe])]) {
      const first = await append(peer, context, 'once', { key });
      expect(await append(peer, context, 'once', { key })).toEqual(first);
      const other = await peer.refused(...appendOf(context, 'twice', { key }));
      expect(other).toMatchObject({ code: 409, quipu: { name: 'IDEMPOTENCY_CONFLICT' } });
    }
    expect((await last(peer, context, 10)).turns.length).toBe(3);
  });

  it('can expect a head, or none', async () => {
    const context = await createContext(peer);
    const expectHead = true;
    const first = await append(peer, context, 'first', { expectHead });
    const empty = await peer.refused(...appendOf(context, 'x', { expectHead }));
    expect(empty).toMatchObject({ code: 409, quipu: { name: 'HEAD_MOVED' } });
    const second = await append(peer, context, 'second', { parent: first.turn, expectHead });
    expect(
      await peer.refused(...appendOf(context, 'x', { parent: first.turn, expectHead })),
    ).toMatchObject({
      code: 409,
      quipu: { data: expect.stringContaining(`"head":"${second.turn}"`) as unknown },
    });
    // Without the flag an older parent is a branch.
    expect(await append(peer, context, 'branch', { parent: first.turn })).toMatchObject({
      depth: 1,
    });
  });

  it('ignore flags of Quipu from clients that do not know them', async () => {
    const plain = await SocketPeer.open(server.port);
    const context = await createContext(plain);
    await append(plain, context, 'one');
    expect(await append(plain, context, 'two', { expectHead: true, open: true })).toMatchObject({
      depth: 1,
    });
    plain.close();
  });

  it('take the whole range of types', async () => {
    const context = await createContext(peer);
    for (const type of ['', 'a\nb', '\u{1F9F6}', 'x'.repeat(1024)]) {
      await append(peer, context, 'x', {
        turn: { ...turnInput('x'), type, version: 2 ** 32 - 1, encoding: 77 },
      });
      const { turns } = await last(peer, context, 1);
      expect(turns).toMatchObject([{ type, version: 2 ** 32 - 1, encoding: 77 }]);
    }
  });
});

describe('batches', () => {
  const batchOf = (context: bigint, texts: readonly string[], rest: Partial<AppendBatch> = {}) =>
    encodeAppendBatch({
      context,
      parent: 0n,
      items: texts.map((text) => ({ turn: turnInput(text), fsRoot: undefined })),
      key: undefined,
      expectHead: false,
      ...rest,
    });

  it('are one chain, once for one key', async () => {
    const context = await createContext(peer);
    const parts = batchOf(context, ['a', 'b', 'b'], { key: Buffer.from('k') });
    const ack = decodeBatchAck(await peer.must(MessageType.APPEND_BATCH, parts));
    expect(ack.turns.map(({ depth }) => depth)).toEqual([0, 1, 2]);
    expect(decodeBatchAck(await peer.must(MessageType.APPEND_BATCH, parts))).toEqual(ack);
    expect(textsOf(await last(peer, context, 10))).toEqual(['a', 'b', 'b']);
  });

  it('with one bad item store nothing, and the error names it', async () => {
    const context = await createContext(peer);
    const good = { turn: turnInput('a'), fsRoot: undefined };
    const bad = { turn: { ...turnInput('b'), hash: turnInput('c').hash }, fsRoot: undefined };
    const parts = batchOf(context, [], { items: [good, bad] });
    const error = await peer.refused(MessageType.APPEND_BATCH, parts);
    expect(error.code).toBe(422);
    expect(error.detail).toContain('item 1');
    expect((await last(peer, context, 10)).turns).toEqual([]);
    expect(await peer.refused(MessageType.APPEND_BATCH, parts, 64)).toMatchObject({ code: 422 });
  });
});

describe('blobs', () => {
  const bytes = Buffer.from('hello blob');
  const hash = hashBytes(bytes);

  it('are put, found again and read', async () => {
    const put = encodePutBlob({ hash, bytes });
    expect(decodePutBlobReply(await peer.must(MessageType.PUT_BLOB, put))).toEqual({
      hash,
      wasNew: true,
    });
    expect(decodePutBlobReply(await peer.must(MessageType.PUT_BLOB, put))).toEqual({
      hash,
      wasNew: false,
    });
    expect(decodeGetBlobReply(await peer.must(MessageType.GET_BLOB, encodeGetBlob(hash)))).toEqual(
      bytes,
    );
    const large = Buffer.alloc(5_000_000, 1);
    const largePut = { hash: hashBytes(large), bytes: large };
    await peer.must(MessageType.PUT_BLOB, encodePutBlob(largePut));
    const read = await peer.must(MessageType.GET_BLOB, encodeGetBlob(largePut.hash));
    expect(read.length).toBe(large.length + 4);
  });

  it('are refused under another hash, and missed by their name', async () => {
    const other = hashBytes(Buffer.from('other'));
    for (const wrong of [bytes, Buffer.alloc(5_000_000)]) {
      const put = encodePutBlob({ hash: other, bytes: wrong });
      expect(await peer.refused(MessageType.PUT_BLOB, put)).toMatchObject({ code: 422 });
    }
    expect(await peer.refused(MessageType.GET_BLOB, encodeGetBlob(other))).toMatchObject({
      code: 404,
    });
    expect(await peer.refused(MessageType.GET_BLOB, [Buffer.alloc(33)])).toMatchObject({
      code: 422,
    });
  });

  it('can be the file-system root of a turn, in one go', async () => {
    const context = await createContext(peer);
    const tree = Buffer.from('a tree');
    const root: Hash = hashBytes(tree);
    peer.request(MessageType.PUT_BLOB, encodePutBlob({ hash: root, bytes: tree }));
    peer.request(...appendOf(context, 'with a root', { fsRoot: root }));
    await peer.next();
    const { turn } = decodeAck((await peer.next()).payload);
    expect((await last(peer, context, 1, { wantExt: true })).ext).toMatchObject([{ flags: 32 }]);
    const attach = encodeAttachFs({ turn, fsRoot: hash });
    expect(await peer.must(MessageType.ATTACH_FS, attach)).toEqual(Buffer.concat(attach));
    const missing = encodeAttachFs({ turn, fsRoot: hashBytes(Buffer.from('no root')) });
    expect(await peer.refused(MessageType.ATTACH_FS, missing)).toMatchObject({ code: 404 });
    const noTurn = encodeAttachFs({ turn: 99_999n, fsRoot: hash });
    expect(await peer.refused(MessageType.ATTACH_FS, noTurn)).toMatchObject({ code: 404 });
  });
});
