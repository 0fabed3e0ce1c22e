import { describe, expect, it, onTestFinished } from 'vitest';
import { toHash } from '../../src/base/brand.ts';
import type { Chat } from '../../src/chat/handle/chats.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { extentsFile } from '../../src/engine/files/logs/line-log.ts';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { failure } from '../../src/testing/engine-suite/fixture.ts';
import { STORE, openStore } from '../crash/open-store.ts';
import { connectTo } from '../support/serve-engine.ts';
import { eventsOf, join, textsOf } from '../../src/testing/chat-suite/fixture.ts';

// Whatever happens to the files of a chat's log, the chat opens, says what it found and where, shows all the
// rest, and changes no byte of it until a repair is asked for.

const LOG = eventsOf('c1');
const TEXTS = ['a', 'b', 'c', 'd', 'e'];

async function open(disk: MemoryIo): Promise<{ engine: Engine; store: Store }> {
  let now = Date.parse('2026-11-15T00:00:00Z');
  const engine = await openStore(disk, () => (now += 1000));
  const store = createStore(engine, { clock: () => (now += 1000) });
  onTestFinished(() => store.close());
  return { engine, store };
}

async function filled(texts: readonly string[] = TEXTS): Promise<MemoryIo> {
  const disk = new MemoryIo();
  const { store } = await open(disk);
  await store.chats.create({ id: 'c1', title: 'talk' });
  const chat = await store.chats.open('c1');
  for (const id of texts) await chat.add({ role: 'user', content: id, id });
  await store.chats.create({ id: 'c2' });
  await store.close();
  return disk;
}

function contentOf(disk: MemoryIo, name: string): Buffer {
  const content = disk.contentOf(`${STORE}/${name}`);
  const bytes = Buffer.alloc(content?.length ?? 0);
  content?.read(bytes, 0);
  return bytes;
}

async function put(disk: MemoryIo, name: string, bytes: Buffer): Promise<void> {
  const file = await disk.open(`${STORE}/${name}`, 'write');
  await file.truncate(0);
  await file.write(bytes, 0);
  await file.sync();
  await file.close();
}

const exportOf = (chat: Chat, format: 'json' | 'markdown'): Promise<string> =>
  join(chat.export({ format }));

const swap = (from: string, to: string) => (bytes: Buffer) =>
  Buffer.from(bytes.toString().replace(from, to));

interface Damage {
  readonly what: string;
  readonly file?: string;
  readonly damage: (bytes: Buffer) => Buffer;
  /** What is still shown. */
  readonly left: readonly string[];
  readonly problems: readonly number[];
}

const DAMAGES: readonly Damage[] = [
  {
    what: 'a torn last line',
    damage: (bytes) => bytes.subarray(0, -20),
    left: ['a', 'b', 'c', 'd'],
    problems: [0, 5],
  },
  {
    what: 'half a line behind the last one',
    damage: (bytes) => Buffer.concat([bytes, Buffer.from('{"torn')]),
    left: TEXTS,
    problems: [0],
  },
  {
    what: 'a line that was edited by hand',
    damage: swap('"content":"b"', '"content":"something else"'),
    left: ['a', 'c', 'd', 'e'],
    problems: [0, 2],
  },
  {
    what: 'lines that were deleted by hand',
    damage: (bytes) => Buffer.from(bytes.toString().split('\n').toSpliced(1, 2).join('\n')),
    left: ['a', 'd', 'e'],
    problems: [0, 2, 3],
  },
  {
    what: 'no bytes at all',
    damage: () => Buffer.alloc(0),
    left: [],
    problems: [0, 1, 2, 3, 4, 5],
  },
  {
    what: 'lost extents at the end',
    file: extentsFile(LOG),
    damage: (bytes) => bytes.subarray(0, 3 * 32 + 5),
    left: ['a', 'b', 'c'],
    problems: [0, 0],
  },
];

describe.each(DAMAGES)('a log with $what', ({ file = LOG, damage, left, problems }) => {
  it('shows the rest, keeps every byte, and takes more after a repair', async () => {
    const disk = await filled();
    const damaged = damage(contentOf(disk, file));
    await put(disk, file, damaged);
    const { engine, store } = await open(disk);
    const chat = await store.chats.open('c1');
    expect(await textsOf(chat)).toEqual(left);
    const found = await chat.problems();
    expect(found.map(({ seq }) => seq)).toEqual(problems);
    // Each stands where it would be read, and what is wrong with the whole is said with the newest page.
    const page = await chat.messages();
    const holes = page.messages.filter((message) => message.damaged !== undefined);
    expect(holes.map(({ seq }) => seq)).toEqual(problems.filter((seq) => seq > 0));
    expect(page.messages.map(({ seq }) => seq)).toEqual(
      page.messages.map(({ seq }) => seq).toSorted((a, b) => a - b),
    );
    expect(page.damage?.map(({ seq }) => seq)).toEqual(problems.filter((seq) => seq === 0));
    expect(found.every(({ kind }) => kind === 'unreadable')).toBe(true);
    expect((await chat.status()).problems).toBe(problems.length);
    expect((await store.chats.list()).items.map(({ id }) => id)).toEqual(['c1', 'c2']);
    const refused = await failure(chat.add({ role: 'user', content: 'x' }), 'CORRUPT');
    expect(refused.message).toContain('quipu verify --repair');
    expect(contentOf(disk, file).equals(damaged)).toBe(true);

    await engine.upkeep.check({ repair: true });
    await chat.add({ role: 'user', content: 'more', id: 'more' });
    const again = await (await open(disk.copy())).store.chats.open('c1');
    expect(await textsOf(again)).toEqual([...left, 'more']);
    // What is lost is told for good; nothing else is wrong any more.
    const { problems: rest } = await engine.upkeep.check({ repair: false });
    expect(rest.filter(({ severity, id }) => severity !== 'lost' || id !== LOG)).toEqual([]);
  });
});

describe('a chat with a line that cannot be read', () => {
  async function holed(): Promise<MemoryIo> {
    const disk = await filled();
    await put(disk, LOG, swap('"content":"b"', '"content":"X"')(contentOf(disk, LOG)));
    return disk;
  }

  it('goes on, is exported with what is missing, and comes back from that', async () => {
    const { store } = await open(await holed());
    const chat = await store.chats.open('c1');
    await chat.add({ role: 'user', content: 'f' });
    expect(await textsOf(chat)).toEqual(['a', 'c', 'd', 'e', 'f']);
    expect(await chat.problems()).toMatchObject([{ seq: 2, kind: 'unreadable' }]);
    expect(await exportOf(chat, 'markdown')).toMatch(/## Unreadable\n\n- event 2: chats\/session/);
    const document = await exportOf(chat, 'json');
    expect(JSON.parse(document)).toHaveProperty('events.1.kind', 'unreadable');
    await store.chats.import(document, { id: 'copy' });
    const copy = await store.chats.open('copy');
    expect(await textsOf(copy)).toEqual(['a', 'c', 'd', 'e', 'f']);
    expect(await copy.problems()).toMatchObject([{ seq: 2, kind: 'not-an-event' }]);
  });

  it('keeps a collection and its own archive waiting, and no other chat', async () => {
    const { store } = await open(await holed());
    const refused = await failure(store.maintain.gc({ graceMs: 0 }), 'CORRUPT');
    expect(refused.message).toContain('event 2 of chat c1 cannot be read');
    await (await store.chats.open('c2')).add({ role: 'user', content: 'old' });
    const report = await store.chats.retain({ maxAgeMs: 0 });
    expect(report).toMatchObject({ chats: [{ id: 'c2' }], damaged: ['c1'], kept: 1 });
    await store.chats.remove('c1');
    await store.maintain.gc({ graceMs: 0 });
  });

  it('shows it again once it is back, also when folds were kept meanwhile', async () => {
    const disk = await filled();
    const whole = contentOf(disk, LOG);
    await put(disk, LOG, swap('"content":"b"', '"content":"X"')(whole));
    const first = await open(disk);
    const chat = await first.store.chats.open('c1');
    await chat.append(Array.from({ length: 1100 }, () => ({ type: 'note', payload: {} })));
    expect((await chat.status()).events).toBe(1105);
    await failure(first.store.maintain.gc({ graceMs: 0 }), 'CORRUPT');
    await first.store.close();
    const grown = contentOf(disk, LOG);
    await put(disk, LOG, Buffer.concat([whole, grown.subarray(whole.length)]));
    const { store } = await open(disk);
    expect(await textsOf(await store.chats.open('c1'))).toEqual(TEXTS);
    await store.maintain.gc({ graceMs: 0 });
  });

  it('is shown from kept folds when it was damaged later, and told by problems', async () => {
    const disk = await filled();
    const first = await open(disk);
    const chat = await first.store.chats.open('c1');
    await chat.append(Array.from({ length: 1100 }, () => ({ type: 'note', payload: {} })));
    await chat.status();
    await first.store.close();
    await put(disk, LOG, swap('"content":"b"', '"content":"X"')(contentOf(disk, LOG)));
    const { store } = await open(disk);
    const later = await store.chats.open('c1');
    expect(await textsOf(later)).toEqual(TEXTS);
    expect((await later.problems()).map(({ seq, kind }) => `${seq} ${kind}`)).toEqual([
      '2 unreadable',
      '6 unknown-type',
    ]);
    await store.maintain.gc({ graceMs: 0 });
  });

  it.each(['tcp', 'http'] as const)('is read over %s as well', async (way) => {
    const { engine } = await open(await holed());
    const store = createStore(await connectTo(engine, way));
    onTestFinished(() => store.close());
    const chat = await store.chats.open('c1');
    expect(await textsOf(chat)).toEqual(['a', 'c', 'd', 'e']);
    expect(await chat.problems()).toMatchObject([{ seq: 2, kind: 'unreadable' }]);
  });
});

describe('an archive whose blobs are lost', () => {
  it('opens, and says so', async () => {
    const { engine, store } = await open(await filled());
    const chat = await store.chats.open('c1');
    await chat.archive();
    const { content = '' } = (await engine.getDoc('chats/session-c1.meta.json')) ?? {};
    const { archive } = JSON.parse(content) as { archive: { hash: string } };
    await engine.upkeep.eraseBlob(toHash(archive.hash));
    const again = await createStore(engine).chats.open('c1');
    expect(await textsOf(again)).toEqual([]);
    const problems = await again.problems();
    expect(problems.map(({ seq, kind }) => `${seq} ${kind}`)).toEqual(
      TEXTS.map((_, at) => `${at + 1} unreadable`),
    );
  });
});
