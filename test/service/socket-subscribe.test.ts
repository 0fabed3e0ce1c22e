import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  onTestFinished,
} from 'vitest';
import { hashBytes } from '../../src/base/hash.ts';
import { encodeUnsubscribe } from '../../src/wire/call.ts';
import { FROM_NOW, Want } from '../../src/wire/cxdb/turns.ts';
import type { Push } from '../../src/wire/cxdb/turns.ts';
import { toReqId } from '../../src/wire/frame.ts';
import { MessageType, PUSHED } from '../../src/wire/message-type.ts';
import { SocketPeer, errorIn } from './socket-peer.ts';
import { startSocketServer } from './socket-server.ts';
import type { SocketServer } from './socket-server.ts';
import { append, appendOf, createContext, deltaOf } from './socket-verbs.ts';
import {
  decodeHead,
  decodePush,
  encodePatch,
  encodeSeal,
  encodeSubscribe,
} from '../wire/cxdb-client.ts';

const EVERYTHING = Want.PAYLOADS | Want.OPEN | Want.PATCHES;

let server: SocketServer;
let writer: SocketPeer;
let reader: SocketPeer;
let context: bigint;
beforeAll(async () => {
  server = await startSocketServer({ limits: { subscriptionBytes: 1024 * 1024 } });
});
afterAll(() => server.close(1000));
beforeEach(async () => {
  writer = await SocketPeer.openQuipu(server.port);
  reader = await SocketPeer.openQuipu(server.port);
  context = await createContext(writer);
});
afterEach(() => {
  writer.close();
  reader.close();
});

async function subscribe(after: bigint, want = EVERYTHING): Promise<bigint> {
  const req = reader.request(MessageType.SUBSCRIBE, encodeSubscribe({ context, after, want }));
  const reply = await reader.next();
  if (reply.type === MessageType.ERROR) throw new Error(errorIn(reply).detail);
  expect(decodeHead(reply.payload).context).toBe(context);
  return req;
}

async function nextPush(): Promise<Push> {
  const frame = await reader.next();
  if (frame.type === MessageType.ERROR) throw new Error(errorIn(frame).detail);
  expect(frame).toMatchObject({ type: MessageType.SUBSCRIBE, flags: PUSHED });
  return decodePush(frame.payload);
}

/** The next pushes in short: kind, turn, and text. */
async function hear(count: number): Promise<string[]> {
  const heard: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const push = await nextPush();
    if (push.kind === 'turn' || push.kind === 'opened') {
      heard.push(`${push.kind} ${String(push.rec.payload)}`);
    } else if (push.kind === 'delta') heard.push(`delta ${push.offset} ${String(push.bytes)}`);
    else if (push.kind === 'sealed') heard.push(`sealed ${push.outcome} ${push.totalLength}`);
    else if (push.kind === 'head') heard.push(`head ${push.common}`);
    else if (push.kind === 'patched') heard.push(`patched ${push.turn} ${push.flags}`);
    else heard.push(push.kind);
  }
  return heard;
}

async function seal(turn: bigint, text: string): Promise<void> {
  const totalLength = text.length;
  const rest = { outcome: 'complete', hash: undefined, reason: '' } as const;
  await writer.must(MessageType.SEAL, encodeSeal({ context, turn, totalLength, ...rest }));
}

describe('SUBSCRIBE', () => {
  it('sends what is there, then what comes, without gap and without repetition', async () => {
    for (let index = 0; index < 150; index += 1) writer.request(...appendOf(context, `${index}`));
    for (let index = 0; index < 20; index += 1) await writer.next();
    await subscribe(0n);
    for (let index = 150; index < 200; index += 1) writer.request(...appendOf(context, `${index}`));
    const heard = await hear(201);
    const turns = heard.filter((text) => text !== 'caught-up');
    expect(turns).toEqual(Array.from({ length: 200 }, (_, index) => `turn ${index}`));
    expect(heard.indexOf('caught-up')).toBeGreaterThanOrEqual(20);
  });

  it('reads what came meanwhile together, however many turns it was', async () => {
    await subscribe(0n);
    expect(await hear(1)).toEqual(['caught-up']);
    const { engine } = server.served;
    const walkBack = engine.walkBack.bind(engine);
    let [calls, goOn]: [number, () => void] = [0, () => undefined];
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    engine.walkBack = async (...args) => {
      calls += 1;
      await held;
      return walkBack(...args);
    };
    onTestFinished(() => {
      engine.walkBack = walkBack;
    });
    for (let index = 0; index < 200; index += 1) writer.request(...appendOf(context, `${index}`));
    for (let index = 0; index < 200; index += 1) await writer.next();
    goOn();
    expect(await hear(200)).toEqual(Array.from({ length: 200 }, (_, index) => `turn ${index}`));
    expect(calls).toBeLessThan(10);
  });

  it('ends with 429 when changes went by unheard, as on a database', async () => {
    const { engine } = server.served;
    const listen = engine.subscribe.bind(engine);
    let miss: () => void = () => undefined;
    engine.subscribe = (listener, missed = () => undefined) => {
      miss = missed;
      return listen(listener);
    };
    onTestFinished(() => {
      engine.subscribe = listen;
    });
    await subscribe(0n);
    expect(await hear(1)).toEqual(['caught-up']);
    await append(writer, context, 'one');
    expect(await hear(1)).toEqual(['turn one']);
    miss();
    const frame = await reader.next();
    expect(errorIn(frame)).toMatchObject({ code: 429, quipu: { name: 'UNAVAILABLE' } });
  });

  it('begins after a turn, or now', async () => {
    const { turn } = await append(writer, context, 'old');
    await append(writer, context, 'newer');
    await subscribe(turn);
    expect(await hear(2)).toEqual(['turn newer', 'caught-up']);
    await subscribe(FROM_NOW, 0);
    const caughtUp = await nextPush();
    expect(caughtUp.kind).toBe('caught-up');
    await append(writer, context, 'newest');
    expect((await hear(2)).toSorted()).toEqual(['turn ', 'turn newest']);
  });

  it('tells of a turn while it is being written', async () => {
    await subscribe(0n);
    const { turn } = await append(writer, context, 'one', { open: true });
    await writer.must(...deltaOf(context, turn, 3, ' two'));
    expect(await hear(4)).toEqual(['caught-up', 'opened ', 'delta 0 one', 'delta 3  two']);
    await seal(turn, 'one two');
    await append(writer, context, 'next');
    expect(await hear(2)).toEqual(['sealed complete 7', 'turn next']);
  });

  it('tells what an open turn holds so far, and to who does not ask only the end', async () => {
    const { turn } = await append(writer, context, 'one', { open: true });
    await subscribe(0n);
    expect(await hear(2)).toEqual(['opened one', 'caught-up']);
    await writer.must(...deltaOf(context, turn, 2, 'e two'));
    expect(await hear(1)).toEqual(['delta 3  two']);
    await subscribe(0n, Want.PAYLOADS);
    expect(await hear(1)).toEqual(['caught-up']);
    await seal(turn, 'one two');
    expect((await hear(2)).toSorted()).toEqual(['sealed complete 7', 'turn one two']);
  });

  it('tells when the head goes to another branch', async () => {
    const root = await append(writer, context, 'root');
    await append(writer, context, 'left');
    await subscribe(0n);
    await hear(3);
    await append(writer, context, 'right', { parent: root.turn });
    expect(await hear(2)).toEqual([`head ${root.turn}`, 'turn right']);
    // To a branch that was made elsewhere: its turns have to be told, too.
    const fork = await createContext(writer, root.turn);
    await append(writer, fork, 'elsewhere');
    const far = await append(writer, fork, 'further');
    await append(writer, context, 'joined', { parent: far.turn });
    expect(await hear(4)).toEqual([
      `head ${root.turn}`,
      'turn elsewhere',
      'turn further',
      'turn joined',
    ]);
    const { turn } = await append(writer, context, '', { parent: root.turn, open: true });
    await seal(turn, '');
    expect(await hear(3)).toEqual(['opened ', `head ${root.turn}`, 'sealed complete 0']);
    const other = await createContext(writer);
    const stranger = await append(writer, other, 'stranger');
    await append(writer, context, 'new tree', { parent: stranger.turn });
    expect(await hear(3)).toEqual(['head 0', 'turn stranger', 'turn new tree']);
  });

  it('tells of patches on its own chain', async () => {
    const { turn } = await append(writer, context, 'mine');
    const other = await createContext(writer);
    const stranger = await append(writer, other, 'not mine');
    await subscribe(FROM_NOW);
    await hear(1);
    const payload = Buffer.from('patched');
    const patch = { expectSeq: undefined, hash: hashBytes(payload), payload, key: undefined };
    await writer.must(MessageType.PATCH, encodePatch({ ...patch, turn: stranger.turn }));
    await writer.must(MessageType.PATCH, encodePatch({ ...patch, turn }));
    await writer.must(MessageType.PATCH, encodePatch({ ...patch, turn, hash: undefined }));
    expect(await hear(2)).toEqual([`patched ${turn} 0`, `patched ${turn} 1`]);
  });

  it('refuses a place that is not on the chain', async () => {
    await append(writer, context, 'x');
    const other = await createContext(writer);
    const { turn } = await append(writer, other, 'y');
    await expect(subscribe(turn)).rejects.toThrow('does not lead to the head');
    await expect(subscribe(99_999n)).rejects.toThrow('does not lead to the head');
    context = 99_999n;
    await expect(subscribe(0n)).rejects.toThrow('context');
    const bad = [Buffer.alloc(20, 0xff)];
    expect(await reader.refused(MessageType.SUBSCRIBE, bad)).toMatchObject({ code: 422 });
  });

  it('ends with UNSUBSCRIBE, and then nothing more is sent', async () => {
    const req = await subscribe(0n);
    await hear(1);
    const id = toReqId(req);
    expect(await reader.must(MessageType.UNSUBSCRIBE, encodeUnsubscribe(id))).toEqual(id);
    await append(writer, context, 'unheard');
    // One that is unknown is as good as ended.
    await reader.must(MessageType.UNSUBSCRIBE, encodeUnsubscribe(id));
    expect(reader.waiting).toBe(0);
  });

  it('ends when the context goes', async () => {
    const req = await subscribe(0n);
    await hear(1);
    await server.served.store.contexts.remove(context as never);
    const frame = await reader.next();
    expect(frame).toMatchObject({ type: MessageType.ERROR, flags: PUSHED, reqId: toReqId(req) });
    expect(errorIn(frame)).toMatchObject({ code: 404 });
  });

  it('ends with 429 for a reader that is too slow, and the connection goes on', async () => {
    await subscribe(0n);
    await hear(1);
    reader.socket.pause();
    const { turn } = await append(writer, context, '', { open: true });
    const piece = 'x'.repeat(512 * 1024);
    const pieces = 24;
    for (let index = 0; index < pieces; index += 1) {
      await writer.must(...deltaOf(context, turn, index * piece.length, piece));
    }
    reader.socket.resume();
    let frame = await reader.next();
    while (frame.type === MessageType.SUBSCRIBE) frame = await reader.next();
    expect(errorIn(frame)).toMatchObject({ code: 429, quipu: { name: 'UNAVAILABLE' } });
    await seal(turn, piece.repeat(pieces));
    await append(reader, context, 'still here');
  });
});
