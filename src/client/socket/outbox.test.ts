import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { encodeFrame, toReqId } from '../../wire/frame.ts';
import { Outbox } from './connection.ts';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Two ends of one connection. The far one reads nothing before it is told to. */
async function socketPair(): Promise<{ near: Socket; far: Socket }> {
  const server = createServer({ pauseOnConnect: true });
  servers.push(server);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  const near = connect((server.address() as AddressInfo).port, '127.0.0.1');
  return { near, far: await accepted };
}

async function readAll({ near, far }: { near: Socket; far: Socket }): Promise<Buffer> {
  near.end();
  const chunks: Buffer[] = [];
  for await (const chunk of far) chunks.push(chunk as Buffer);
  near.destroy();
  return Buffer.concat(chunks);
}

function message(id: number, length: number): { type: number; parts: Uint8Array[] } {
  return { type: 5, parts: [Buffer.from('head'), Buffer.alloc(length, id)] };
}

function frame(id: number, length: number): Uint8Array {
  return encodeFrame(5, 0, toReqId(BigInt(id)), ...message(id, length).parts);
}

it('sends frames whole and in order, small ones and large ones', async () => {
  const pair = await socketPair();
  const outbox = new Outbox(pair.near);
  const lengths = [10, 30_000, 40_000, 20, 200_000, 30, 65_536, 65_500, 7];
  for (const [id, length] of lengths.entries()) outbox.add(id, message(id, length));
  await new Promise(setImmediate);
  expect(await readAll(pair)).toEqual(
    Buffer.concat(lengths.map((length, id) => frame(id, length))),
  );
});

it('keeps the frames of connections apart that send at the same moment', async () => {
  const pairs = [await socketPair(), await socketPair()] as const;
  const outboxes = pairs.map(({ near }) => new Outbox(near));
  for (let id = 0; id < 20; id += 1) {
    for (const [at, outbox] of outboxes.entries()) outbox.add(id, message(id, 1000 + at));
  }
  await new Promise(setImmediate);
  for (const [at, pair] of pairs.entries()) {
    const frames = Array.from({ length: 20 }, (_, id) => frame(id, 1000 + at));
    expect(await readAll(pair)).toEqual(Buffer.concat(frames));
  }
});

it('does not touch what a socket still holds for a peer that reads late', async () => {
  const pair = await socketPair();
  const outbox = new Outbox(pair.near);
  const count = 600;
  for (let id = 0; id < count; id += 1) {
    outbox.add(id, message(id % 251, 20_000));
    if (id % 7 === 0) await new Promise(setImmediate);
  }
  await new Promise(setImmediate);
  expect(pair.near.writableLength).toBeGreaterThan(0);
  const received = await readAll(pair);
  let at = 0;
  for (let id = 0; id < count; id += 1) {
    const expected = encodeFrame(5, 0, toReqId(BigInt(id)), ...message(id % 251, 20_000).parts);
    expect(received.subarray(at, at + expected.length).equals(expected)).toBe(true);
    at += expected.length;
  }
  expect(at).toBe(received.length);
});
