import { describe, expect, it } from 'vitest';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';
import { exploreCrashes } from '../../src/testing/disk/explore-crashes.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { openStore } from '../crash/open-store.ts';
import { CHECK_TIME } from '../crash/oracle.ts';
import { findTexts } from '../../src/testing/health-suite/erase-scene.ts';
import type { Files } from '../../src/testing/health-suite/find-bytes.ts';
import { textsOf } from '../../src/testing/chat-suite/fixture.ts';

/*
 * Invariant: whenever the power is cut while a message is erased, the chat opens with every other message;
 * the message is there whole, or hidden; once the erasure was acknowledged its text is nowhere; and it
 * can always be erased again.
 */

const SECRET = 'q8zr1v5kx0w7m3';

async function openOn(disk: MemoryIo, nowMs: number): Promise<Store> {
  const clock = (): number => nowMs;
  return createStore(await openStore(disk, clock), { clock });
}

function filesOn(disk: MemoryIo): Files {
  return disk.paths().map((path) => [path, disk.contentOf(path)?.toBytes() ?? new Uint8Array()]);
}

async function erase(store: Store): Promise<void> {
  const chat = await store.chats.open('c1');
  await chat.redact('s', { reason: 'private', erase: true });
}

async function explore(eraseWith: (store: Store) => Promise<void>): Promise<number> {
  const start = new MemoryIo();
  const filled = await openOn(start, 1000);
  await filled.chats.create({ id: 'c1' });
  const chat = await filled.chats.open('c1');
  await chat.add({ role: 'user', content: 'before', id: 'a' });
  await chat.add({ role: 'user', content: SECRET, id: 's' });
  await chat.edit('s', `${SECRET} again`);
  await chat.add({ role: 'user', content: 'after', id: 'b' });
  let checked = 0;
  const count = await exploreCrashes<string>({
    seed: 5,
    statesPerPoint: 4,
    nestedPerPoint: 1,
    start: start.copy(),
    async run(disk, note) {
      const store = await openOn(disk, 2000);
      await eraseWith(store);
      note('erased');
      await store.close();
    },
    async check(disk, done, crash) {
      const store = await openOn(disk, CHECK_TIME);
      crash.recovered();
      const opened = await store.chats.open('c1');
      const [before, secret, after] = await textsOf(opened);
      if (before !== 'before' || after !== 'after') throw new Error('another message is gone');
      if (secret !== '' && secret !== `${SECRET} again`) throw new Error(`half of it: ${secret}`);
      const found = findTexts(filesOn(disk), [SECRET]);
      if (done.includes('erased') && found.length > 0) throw new Error(`it is in ${found.join()}`);
      checked += 1;
      if (checked % 5 !== 0) return;
      await erase(store);
      const left = findTexts(filesOn(disk), [SECRET]);
      if (left.length > 0) throw new Error(`it is left in ${left.join()}`);
    },
  });
  return count.states;
}

describe('erasing a message', () => {
  it('can be cut off anywhere', { timeout: 60_000 }, async () => {
    expect(await explore(erase)).toBeGreaterThan(40);
  });

  it('is caught when it only hides the text', { timeout: 60_000 }, async () => {
    const hide = async (store: Store): Promise<void> => {
      await (await store.chats.open('c1')).redact('s', { reason: 'private' });
    };
    await expect(explore(hide)).rejects.toThrow('it is in');
  });
});
