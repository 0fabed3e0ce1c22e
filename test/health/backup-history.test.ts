import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openStore, restoreStore as restore, type Store } from '../../src/index.ts';
import { backupStore, restoreStore } from '../../src/engine/files/backup/backup-store.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import {
  append,
  appendLines,
  createContext,
  failure,
  putDoc,
} from '../../src/testing/engine-suite/fixture.ts';
import { COPY, openLive, readCopy, STORE } from './backup-rig.ts';

/*
 * Invariant: a backup has one history. A store that was restored from an older backup, and went on differently, does
 * not write over what only the newer backup has.
 */

const OLDER = '/disk/older';
const AGAIN = '/disk/again';

type Write = (engine: Engine, text: string) => Promise<unknown>;

const WRITES: readonly (readonly [string, Write])[] = [
  ['turns', async (engine, text) => append(engine, (await createContext(engine)).id, text)],
  ['blobs', (engine, text) => engine.putBlob({ chunks: once(text) })],
  ['documents', (engine, text) => putDoc(engine, 'a', JSON.stringify(text))],
  ['contexts', (engine) => createContext(engine)],
  ['logs', (engine, text) => appendLines(engine, 'logs/a', JSON.stringify(text))],
];

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** A disk with an older backup and a newer one, and a store that was restored from one of them. */
async function restoreFrom(backup: string, write: Write): Promise<MemoryIo> {
  const io = new MemoryIo();
  const { writer, engine } = await openLive(io, () => 1000);
  await write(engine, 'both have this');
  await backupStore(writer, OLDER);
  for (const text of ['one', 'two', 'three']) await write(engine, `only here: ${text}`);
  await backupStore(writer, COPY);
  await engine.close();
  await restoreStore(io, backup, AGAIN);
  return io;
}

describe.each(WRITES)('a restored store that goes on with %s', (_, write) => {
  it('continues the backup that it was restored from', async () => {
    const io = await restoreFrom(COPY, write);
    const { writer, engine } = await openLive(io, () => 2000, { path: AGAIN });
    await write(engine, 'new');
    await backupStore(writer, COPY);
    await engine.close();
    expect(await readCopy(io.copy())).toBe(await readCopy(io, AGAIN));
  });

  it.each([0, 2, 4])('leaves a newer backup as it is, after %i writes', async (count) => {
    const io = await restoreFrom(OLDER, write);
    const before = await readCopy(io.copy());
    const { writer, engine } = await openLive(io, () => 2000, { path: AGAIN });
    for (let n = 0; n < count; n += 1) await write(engine, `something else, and longer: ${n}`);
    const error = await failure(backupStore(writer, COPY), 'INVALID');
    expect(error.message).toContain('choose another');
    expect(await readCopy(io.copy())).toBe(before);
    expect(await readCopy(io.copy(), STORE)).toBe(before);
    expect((await backupStore(writer, '/disk/third')).files).toBeGreaterThan(0);
    await engine.close();
  });
});

it('counts what a queue alone has, too', async () => {
  const base = mkdtempSync(join(tmpdir(), 'quipu-history-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [older, newer, again] = [join(base, 'older'), join(base, 'newer'), join(base, 'again')];
  const push = async (store: Store, content: string): Promise<void> => {
    const queue = await store.queues.open('inbox');
    await queue.push({ source: 'self', type: 'message', content });
  };
  {
    await using store = await openStore(join(base, 'store'));
    await push(store, 'both have this');
    await store.maintain.backup(newer);
    await store.maintain.backup(older);
    await push(store, 'only here');
    await store.maintain.backup(newer);
  }
  await restore(older, again);
  await using store = await openStore(again);
  await push(store, 'something else');
  await failure(store.maintain.backup(newer), 'INVALID');
  await store.maintain.backup(older);
  await restore(newer, join(base, 'whole'));
  await using whole = await openStore(join(base, 'whole'));
  const queue = await whole.queues.open('inbox');
  const events = await queue.peek({ lastEventId: 0, limit: 9 });
  expect(events.map(({ content }) => content)).toEqual(['both have this', 'only here']);
});
