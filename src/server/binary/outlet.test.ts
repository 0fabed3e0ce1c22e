import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { OutgoingFrame } from '../../wire/frame.ts';
import { Outlet } from './socket-ends.ts';

interface Written {
  readonly chunk: Buffer;
}

/** A socket that notes its writes, and finishes each when told. */
function rig(limit = 100) {
  const writes: string[] = [];
  const finish: (() => void)[] = [];
  const take = (text: string, done: () => void): void => {
    writes.push(text);
    finish.push(done);
  };
  const socket = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _, done) => take(String(chunk), done),
    writev: (all: readonly Written[], done) =>
      take(all.map(({ chunk }) => String(chunk)).join('+'), done),
    writableHighWaterMark: 10,
  });
  const outlet = new Outlet(socket as Socket, limit);
  return { outlet, writes, finish };
}

function frame(...texts: string[]): OutgoingFrame {
  const chunks = texts.map((text) => Buffer.from(text));
  return { chunks, length: texts.join('').length };
}

it('sends the frames of one moment in one write', async () => {
  const { outlet, writes, finish } = rig();
  outlet.write(frame('a'));
  outlet.write(frame('b', 'c'));
  expect(writes).toEqual([]);
  await setImmediate();
  expect(writes).toEqual(['a+b+c']);
  finish.shift()?.();
  outlet.write(frame('d'));
  await setImmediate();
  expect(writes).toEqual(['a+b+c', 'd']);
});

it('is full from the limit on until all has left', async () => {
  const { outlet, finish } = rig();
  outlet.write(frame('x'.repeat(60)));
  expect(outlet.full).toBe(false);
  outlet.write(frame('x'.repeat(40)));
  expect(outlet.full).toBe(true);
  let isOver = false;
  const room = outlet.room().then(() => {
    isOver = true;
  });
  await setImmediate();
  expect(isOver).toBe(false);
  finish.shift()?.();
  await room;
  expect(outlet.full).toBe(false);
});

it('sends what was written before it ends, and nothing after it is closed', async () => {
  const { outlet, writes } = rig();
  outlet.write(frame('last'));
  outlet.end();
  expect(writes).toEqual(['last']);
  outlet.close();
  outlet.write(frame('never'));
  await setImmediate();
  expect(writes).toEqual(['last']);
  await expect(outlet.room()).rejects.toMatchObject({ code: 'CLOSED' });
});
