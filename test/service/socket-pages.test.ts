import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GetBefore, GetRange, Page } from '../../src/wire/cxdb/turns.ts';
import { MessageType } from '../../src/wire/message-type.ts';
import { SocketPeer } from './socket-peer.ts';
import { startSocketServer } from './socket-server.ts';
import type { SocketServer } from './socket-server.ts';
import { append, createContext, last, textsOf } from './socket-verbs.ts';
import { decodePage, encodeGetBefore, encodeGetRange, pageFlags } from '../wire/cxdb-client.ts';

const OPTIONS = {
  limit: 10,
  payload: true,
  wantExt: false,
  wantOpen: false,
  asOf: undefined,
  maxBytes: undefined,
};

let server: SocketServer;
let peer: SocketPeer;
/** Turns a to e, and a branch from b: c2. */
let context: bigint;
const ids: bigint[] = [];
beforeAll(async () => {
  server = await startSocketServer();
  peer = await SocketPeer.openQuipu(server.port);
  context = await createContext(peer);
  for (const text of ['a', 'b', 'c', 'd', 'e']) ids.push((await append(peer, context, text)).turn);
});
afterAll(async () => {
  peer.close();
  await server.close(1000);
});

async function before(turn: bigint, options: Partial<GetBefore> = {}): Promise<Page> {
  const request: GetBefore = { context, before: turn, ...OPTIONS, ...options };
  const parts = encodeGetBefore(request);
  return decodePage(await peer.must(MessageType.GET_BEFORE, parts, pageFlags(request)));
}

async function range(
  startDepth: number,
  limit: number,
  options: Partial<GetRange> = {},
): Promise<Page> {
  const request: GetRange = { context, chainEnd: 0n, startDepth, ...OPTIONS, limit, ...options };
  const parts = encodeGetRange(request);
  return decodePage(await peer.must(MessageType.GET_RANGE_BY_DEPTH, parts, pageFlags(request)));
}

describe('GET_LAST', () => {
  it('gives the newest turns, and a cursor where there are older ones', async () => {
    const page = await last(peer, context, 2);
    expect(textsOf(page)).toEqual(['d', 'e']);
    expect(page).toMatchObject({ cursor: ids[3], head: ids[4], headDepth: 4, ext: undefined });
    expect(await last(peer, context, 10)).toMatchObject({ cursor: 0n });
    expect(await last(peer, context, 0)).toMatchObject({ turns: [], cursor: 0n, head: ids[4] });
    expect(await last(peer, context, 2 ** 32 - 1)).toMatchObject({ turns: { length: 5 } });
  });

  it('leaves payloads out, and says how long they are', async () => {
    const page = await last(peer, context, 1, { payload: false });
    expect(page.turns).toMatchObject([{ size: 1, payload: Buffer.alloc(0) }]);
    expect(page.turns[0]?.hash).toBeDefined();
  });

  it('is cut where the bytes end, from the oldest on, and never empty', async () => {
    const sizeOfOne = 76 + 'test.turn'.length + 1;
    const page = await last(peer, context, 10, { maxBytes: 28 + 3 * sizeOfOne });
    expect(textsOf(page)).toEqual(['c', 'd', 'e']);
    expect(page.cursor).toBe(ids[2]);
    expect(textsOf(await last(peer, context, 10, { maxBytes: 0 }))).toEqual(['e']);
  });

  it('says when turns were made', async () => {
    const { ext } = await last(peer, context, 1, { wantExt: true });
    expect(ext).toMatchObject([{ flags: 0, patchSeq: 0n }]);
    expect(Math.abs(Date.now() - ext![0]!.createdAt)).toBeLessThan(60_000);
  });
});

describe('GET_BEFORE', () => {
  it('goes on where a page ended, down to the root', async () => {
    const texts: string[] = [];
    for (let cursor = ids[4]!; cursor !== 0n;) {
      const page = await before(cursor, { limit: 2 });
      texts.unshift(...textsOf(page));
      expect(page.head).toBe(ids[4]);
      cursor = page.cursor;
    }
    expect(texts).toEqual(['a', 'b', 'c', 'd']);
    expect((await before(ids[0]!)).turns).toEqual([]);
  });

  it('knows turns of the context, and with context 0 any', async () => {
    const other = await createContext(peer);
    const stranger = (await append(peer, other, 'stranger')).turn;
    const request = { context, before: stranger, ...OPTIONS };
    const refused = await peer.refused(MessageType.GET_BEFORE, encodeGetBefore(request));
    expect(refused).toMatchObject({ code: 404 });
    expect(await before(stranger, { context: 0n })).toMatchObject({
      turns: [],
      head: 0n,
      headDepth: 0,
    });
    expect(
      await peer.refused(MessageType.GET_BEFORE, encodeGetBefore({ ...request, before: 0n })),
    ).toMatchObject({ code: 422 });
    // Left behind by a branch, but appended to this context.
    const fork = await createContext(peer, ids[1]);
    const left = (await append(peer, fork, 'left')).turn;
    await append(peer, fork, 'branch', { parent: ids[1]! });
    expect(textsOf(await before(left, { context: fork }))).toEqual(['a', 'b']);
  });
});

describe('GET_RANGE_BY_DEPTH', () => {
  it('gives depths from the root on', async () => {
    expect(textsOf(await range(1, 2))).toEqual(['b', 'c']);
    expect(textsOf(await range(3, 2 ** 32 - 1))).toEqual(['d', 'e']);
    expect((await range(5, 2)).turns).toEqual([]);
    expect((await range(0, 0)).turns).toEqual([]);
    expect(await range(0, 1)).toMatchObject({ head: ids[4], headDepth: 4, cursor: 0n });
  });

  it('gives them on the chain of another turn', async () => {
    const page = await range(1, 10, { chainEnd: ids[2]! });
    expect(textsOf(page)).toEqual(['b', 'c']);
    expect(page).toMatchObject({ head: ids[2], headDepth: 2 });
    expect(textsOf(await range(2 ** 32 - 1, 2, { chainEnd: ids[2]! }))).toEqual(['b', 'c']);
    expect(textsOf(await range(2 ** 32 - 1, 1, { chainEnd: ids[3]!, context: 0n }))).toEqual(['d']);
  });

  it('is cut from the newest on', async () => {
    const page = await range(0, 10, { maxBytes: 300 });
    expect(textsOf(page)).toEqual(['a', 'b', 'c'].slice(0, page.turns.length));
    expect(page.turns.length).toBeLessThan(5);
    expect(textsOf(await range(page.turns.length, 10))[0]).toBe('abcde'[page.turns.length]);
  });

  it('includes the open turn for who wants it', async () => {
    const fork = await createContext(peer, ids[1]);
    const { turn } = await append(peer, fork, 'open', { open: true });
    const wantOpen = { context: fork, wantOpen: true };
    expect(textsOf(await range(1, 10, wantOpen))).toEqual(['b', 'open']);
    expect(textsOf(await range(2, 10, wantOpen))).toEqual(['open']);
    expect(textsOf(await range(1, 1, wantOpen))).toEqual(['b']);
    expect(textsOf(await range(0, 10, { ...wantOpen, chainEnd: turn }))).toEqual([
      'a',
      'b',
      'open',
    ]);
    const request = { context: fork, chainEnd: turn, startDepth: 0, ...OPTIONS };
    expect(
      await peer.refused(MessageType.GET_RANGE_BY_DEPTH, encodeGetRange(request)),
    ).toMatchObject({
      code: 404,
    });
    expect(textsOf(await last(peer, fork, 2, { wantOpen: true }))).toEqual(['b', 'open']);
    expect(textsOf(await before(turn, { context: fork }))).toEqual(['a', 'b']);
  });
});

describe('a payload that cannot be read', () => {
  it('is marked for who can see it, and an error for others', async () => {
    const { engine } = server.served;
    const damaged = await createContext(peer);
    await append(peer, damaged, 'good');
    const { hash, turn } = await append(peer, damaged, 'bad');
    const view = engine.viewBlob.bind(engine);
    engine.viewBlob = (asked) => (asked === hash ? Promise.resolve(undefined) : view(asked));
    try {
      const page = await last(peer, damaged, 2, { wantExt: true });
      expect(textsOf(page)).toEqual(['good', '']);
      expect(page).toMatchObject({
        turns: [{}, { size: 3, hash }],
        ext: [{ flags: 0 }, { flags: 64 }],
      });
      await expect(last(peer, damaged, 2)).rejects.toThrow(`500 the payload of turn ${turn}`);
      expect(await last(peer, damaged, 2, { payload: false })).toMatchObject({
        turns: { length: 2 },
      });
    } finally {
      engine.viewBlob = view;
    }
  });
});
