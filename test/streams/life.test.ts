import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { encodeUtf8 } from '../../src/base/text.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { failure } from '../../src/testing/engine-suite/fixture.ts';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';
import { type NewStream, Streams } from '../../src/stream/streams.ts';
import { tailOf } from '../../src/stream/find-stream.ts';
import { toMessage } from '../../src/stream/message.ts';
import { STREAM_DOCS, producerDocs, streamDoc } from '../../src/stream/stream-record.ts';

// What a stream leaves in the store, and when that goes.

const TYPE = 'application/octet-stream';
const NOTHING: NewStream = { type: TYPE, closed: false, body: new Uint8Array() };

interface Rig {
  readonly engine: Engine;
  readonly store: Store;
  readonly streams: Streams;
  /** What the clock of streams says, in ms. */
  nowMs: number;
}

async function openRig(): Promise<Rig> {
  const folder = await mkdtemp(join(tmpdir(), 'quipu-streams-'));
  const engine = await openFilesEngine(folder, { durability: 'unsafe' });
  const rig = { engine, nowMs: Date.now() };
  const clock = (): number => rig.nowMs;
  const store = createStore(engine, { clock });
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  return Object.assign(rig, { store, streams: new Streams(engine, clock) });
}

async function append(streams: Streams, name: string, bytes: Uint8Array): Promise<void> {
  const message = toMessage(bytes, TYPE)!;
  const answer = await streams.append(name, { message, type: TYPE, close: false });
  expect(answer.is).toBe('done');
}

async function isStored({ engine }: Rig, bytes: Uint8Array): Promise<boolean> {
  return engine.hasBlob(toMessage(bytes, TYPE)!.hash);
}

it('frees the bytes of a deleted stream, but for those that a fork shares', async () => {
  const rig = await openRig();
  const { streams, store, engine } = rig;
  const [shared, own] = [randomBytes(1000), randomBytes(1000)];
  await streams.create('source', NOTHING);
  await append(streams, 'source', shared);
  await append(streams, 'source', own);
  await streams.create('fork', {
    closed: false,
    body: new Uint8Array(),
    fork: { from: 'source', at: 1, sub: 0 },
  });
  await store.maintain.gc({ graceMs: 0 });
  expect([await isStored(rig, shared), await isStored(rig, own)]).toEqual([true, true]);

  expect(await streams.remove('source')).toBe('removed');
  expect(await streams.remove('source')).toBe('gone');
  await store.maintain.gc({ graceMs: 0 });
  expect([await isStored(rig, shared), await isStored(rig, own)]).toEqual([true, false]);
  expect(await streams.find('fork')).toMatchObject({ is: 'live', record: { type: TYPE } });

  expect(await streams.remove('fork')).toBe('removed');
  await store.maintain.gc({ graceMs: 0 });
  expect(await isStored(rig, shared)).toBe(false);
  expect(await engine.listDocs(STREAM_DOCS, 10)).toEqual([]);
  expect(await store.contexts.list({ kind: 'stream' })).toMatchObject({ items: [] });
});

it('frees expired streams with a collection that nobody else announced, and not with a dry run', async () => {
  const rig = await openRig();
  const { streams, store } = rig;
  const bytes = randomBytes(1000);
  await streams.create('short', { ...NOTHING, ttl: 10 });
  await append(streams, 'short', bytes);
  await streams.create('long', { ...NOTHING, ttl: 1000 });
  rig.nowMs += 20_000;
  await store.maintain.gc({ graceMs: 0, dryRun: true });
  expect(await store.contexts.list({ kind: 'stream' })).toMatchObject({ items: [{}, {}] });
  await store.maintain.gc({ graceMs: 0 });
  expect(await isStored(rig, bytes)).toBe(false);
  expect(await store.contexts.list({ kind: 'stream' })).toMatchObject({
    items: [{ name: 'stream:long' }],
  });
});

it('lets a stream live while it is read, with few commits', async () => {
  const rig = await openRig();
  const { streams, engine } = rig;
  await streams.create('s', { ...NOTHING, ttl: 100 });
  const commits = vi.spyOn(engine, 'commit');
  for (let read = 0; read < 1000; read += 1) {
    rig.nowMs += 1000;
    expect(await streams.use('s')).toMatchObject({ is: 'live' });
  }
  // A thousand seconds are ten times its life, with sixteen notes each.
  expect(commits.mock.calls.length).toBeLessThan(170);
  rig.nowMs += 99_000;
  expect(await streams.find('s')).toMatchObject({ is: 'live' });
  rig.nowMs += 8_000;
  expect(await streams.find('s')).toBeUndefined();
});

it('takes the documents of many producers away in steps', async () => {
  const rig = await openRig();
  const { streams, engine } = rig;
  await streams.create('s', NOTHING);
  const message = toMessage(encodeUtf8('x'), TYPE)!;
  const commits = vi.spyOn(engine, 'commit');
  await Promise.all(
    Array.from({ length: 1200 }, (_, nth) =>
      streams.append('s', {
        message,
        type: TYPE,
        close: false,
        producer: { id: `p${nth}`, epoch: 0, seq: 0 },
      }),
    ),
  );
  // Requests that come while a commit is on its way share the next one.
  expect(commits.mock.calls.length).toBeLessThan(10);
  expect(await engine.listDocs(producerDocs('s'), 2000)).toHaveLength(1200);
  await streams.remove('s');
  expect(await engine.listDocs(producerDocs('s'), 1)).toEqual([]);
  expect(await engine.listDocs(STREAM_DOCS, 1)).toEqual([]);
  await streams.create('s', NOTHING);
  const again = { message, type: TYPE, close: false, producer: { id: 'p1', epoch: 0, seq: 0 } };
  expect(await streams.append('s', again)).toMatchObject({ is: 'done', next: 1 });
});

it('ends with its context, whoever removes that', async () => {
  const { streams, store, engine } = await openRig();
  await streams.create('s', NOTHING);
  const { items } = await store.contexts.list({ kind: 'stream' });
  await store.contexts.remove(items[0]!.id);
  expect(await streams.find('s')).toBeUndefined();
  expect(await engine.listDocs(STREAM_DOCS, 1)).toEqual([]);
});

it('does not take the name of a context that is there', async () => {
  const { streams, store } = await openRig();
  await store.contexts.create({ name: 'stream:s' });
  await failure(streams.create('s', NOTHING), 'EXISTS');
  expect(await streams.find('s')).toBeUndefined();
});

it('is created once when many want it, and forked by all who want that', async () => {
  const { streams } = await openRig();
  const made = await Promise.all(Array.from({ length: 20 }, () => streams.create('s', NOTHING)));
  expect(made.filter(({ created }) => created)).toHaveLength(1);
  const fork = { closed: false, body: new Uint8Array(), fork: { from: 's', sub: 0 } };
  await Promise.all(Array.from({ length: 20 }, (_, nth) => streams.create(`f${nth}`, fork)));
  expect(await streams.find('s')).toMatchObject({ record: { forks: 20 } });
  await streams.remove('s');
  expect(await streams.find('s')).toMatchObject({ is: 'gone' });
  await Promise.all(Array.from({ length: 20 }, (_, nth) => streams.remove(`f${nth}`)));
  expect(await streams.find('s')).toBeUndefined();
});

it('appends nothing after a closing, however they race', async () => {
  const { streams } = await openRig();
  await streams.create('s', NOTHING);
  const message = toMessage(encodeUtf8('x'), TYPE)!;
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, nth) =>
      streams.append('s', { message, type: TYPE, close: nth === 30 }),
    ),
  );
  const done = answers.filter(({ is }) => is === 'done').length;
  const stream = await streams.find('s');
  if (stream?.is !== 'live') throw new Error('the stream is gone');
  expect([done, tailOf(stream), stream.record.closed]).toEqual([31, 31, 31]);
});

it('costs one turn for a message, however long the stream is, and a fork one context', async () => {
  const { streams, engine } = await openRig();
  await streams.create('s', NOTHING);
  for (let nth = 0; nth < 300; nth += 1) await append(streams, 's', encodeUtf8(`${nth}`));
  const commits = vi.spyOn(engine, 'commit');
  await append(streams, 's', encodeUtf8('last'));
  const fork = { from: 's', at: 150, sub: 0 };
  await streams.create('f', { closed: false, body: new Uint8Array(), fork });
  const [appended, forked] = commits.mock.calls.map(([batch]) => batch);
  expect(appended).toMatchObject({ turns: { length: 1 }, blobs: { length: 1 }, docs: [] });
  expect(forked).toMatchObject({ contexts: { length: 1 }, turns: [], blobs: [] });
  const stream = await streams.find('f');
  expect(stream?.is === 'live' ? tailOf(stream) : stream).toBe(150);
});

it('with a damaged document keeps its messages, and no collection from its work', async () => {
  const rig = await openRig();
  const { streams, store, engine } = rig;
  const bytes = randomBytes(1000);
  await streams.create('s', { ...NOTHING, ttl: 1 });
  await append(streams, 's', bytes);
  await engine.commit({ docs: [{ name: streamDoc('s'), content: '{"v":9}' }] });
  rig.nowMs += 10_000;
  await store.maintain.gc({ graceMs: 0 });
  expect(await isStored(rig, bytes)).toBe(true);
  await failure(streams.find('s'), 'CORRUPT');
});
