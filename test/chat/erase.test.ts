import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Chat } from '../../src/chat/chats.ts';
import { openStore } from '../../src/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { failure } from '../../src/testing/engine-suite/fixture.ts';
import { filesIn } from '../health/files-in.ts';
import { findTexts } from '../health/erase-scene.ts';
import { eventsOf, join, newChat, openRig, reopen, textsOf } from './rig.ts';

/*
 * Invariant: once a message was redacted with `erase`, no file of the store has its text in any form, be it
 * in lines, blobs, folds, archives or the journal, nor has a backup made after it; everything else is as
 * it was.
 */

const noise = (seed: number, length: number): string => {
  let [text, state] = ['', seed];
  while (text.length < length) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    text += state.toString(36);
  }
  return text.slice(0, length);
};

const SECRETS = {
  added: noise(1, 40),
  delta: noise(2, 30),
  completed: noise(3, 50),
  edited: noise(4, 45),
  heavy: noise(5, 60_000),
  file: noise(6, 5000),
  name: noise(7, 30),
};

async function fill(chat: Chat): Promise<void> {
  await chat.add({ role: 'user', content: 'stays', id: 'k1' });
  await chat.add({ role: 'user', content: SECRETS.added, id: 's' });
  await chat.edit('s', SECRETS.edited);
  const stream = await chat.stream({ role: 'assistant', id: 'st' });
  await stream.write(SECRETS.delta);
  await stream.complete(SECRETS.completed);
  await chat.add({ role: 'tool', content: SECRETS.heavy, id: 'h' });
  await chat.attach(new TextEncoder().encode(SECRETS.file), { name: SECRETS.name, message: 'h' });
  await chat.add({ role: 'user', content: 'stays too', id: 'k2' });
}

function folder(): string {
  const path = mkdtempSync(joinPath(tmpdir(), 'quipu-chat-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const REASON = { reason: 'it was private', erase: true };

async function eraseAll(chat: Chat): Promise<void> {
  for (const id of ['s', 'st', 'h']) await chat.redact(id, REASON);
}

describe('redaction', () => {
  it('hides a message from every reader, for good', async () => {
    const rig = openRig();
    const chat = await newChat(rig);
    await fill(chat);
    const { event } = await chat.redact('h', { reason: 'private' });
    expect(event).toMatchObject({ type: 'message_redacted', payload: { message_id: 'h' } });
    expect(await chat.redact('h', { reason: 'again' })).not.toHaveProperty('event');
    await failure(chat.edit('h', 'x'), 'INVALID');
    await failure(chat.redact('nobody', { reason: 'x' }), 'NOT_FOUND');
    await failure(chat.redact('s', { reason: '' }), 'INVALID');
    const again = await reopen(rig, 'c1');
    const redacted = { reason: 'private', erased: false };
    expect(await again.message('h')).toMatchObject({ content: '', redacted, attachments: [] });
    expect(await join(again.export())).not.toContain(SECRETS.heavy.slice(0, 50));
  });

  it('with erasure leaves the text nowhere', { timeout: 60_000 }, async () => {
    const place = folder();
    const [live, copy] = [joinPath(place, 'live'), joinPath(place, 'copy')];
    let store: Store = await openStore(live);
    await store.chats.create({ id: 'c1' });
    let chat = await store.chats.open('c1');
    await fill(chat);
    // Kept segments have the texts as well, and so have an archive and a backup.
    const filler = {
      type: 'message_added',
      payload: { message_id: 'f', role: 'user', content: 'x' },
    };
    await chat.append(
      Array.from({ length: 1030 }, (_, n) => ({
        ...filler,
        payload: { ...filler.payload, message_id: `f${n}` },
      })),
    );
    await chat.edit('s', SECRETS.edited);
    await chat.archive();
    await chat.unarchive();
    await store.maintain.backup(copy);
    const texts = Object.values(SECRETS);
    for (const text of texts)
      expect(findTexts(filesIn(live), [text]).length, text.slice(0, 9)).toBeGreaterThan(0);
    const before = await chat.status();
    const report = await chat.redact('s', REASON);
    expect(report).toMatchObject({ erasedLines: 3, kept: [], unreadableLines: 0 });
    expect(report.event?.payload['lines']).toMatchObject([{ seq: 2 }, { seq: 3 }, { seq: 1039 }]);
    await chat.redact('st', REASON);
    await chat.redact('h', REASON);
    expect(findTexts(filesIn(live), texts)).toEqual([]);
    expect(await chat.status()).toMatchObject({
      events: before.events + 3,
      messages: before.messages,
    });
    expect((await textsOf(chat)).slice(0, 6)).toEqual(['stays', '', '', '', 'stays too', 'x']);
    expect(await chat.problems()).toEqual([]);
    expect(await store.maintain.verify()).toMatchObject({ ok: true });
    await store.maintain.backup(copy);
    await store.close();
    for (const at of [live, copy]) {
      store = await openStore(at);
      chat = await store.chats.open('c1');
      expect((await textsOf(chat)).slice(0, 6)).toEqual(['stays', '', '', '', 'stays too', 'x']);
      await store.close();
      expect(findTexts(filesIn(at), texts), at).toEqual([]);
    }
  });

  it('is seen to fail when the lines stay as they were', async () => {
    const rig = openRig();
    rig.engine.upkeep.eraseLines = async () => undefined;
    const chat = await newChat(rig);
    await fill(chat);
    // Whoever looks again finds that the lines are there still.
    await failure(eraseAll(chat), 'INVALID');
    expect((await rig.engine.readLog(eventsOf('c1'), 0, 20)).join()).toContain(SECRETS.added);
  });

  it('keeps the bytes of an attachment that another chat has, unless told otherwise', async () => {
    const rig = openRig();
    const chat = await newChat(rig);
    const other = await newChat(rig, 'c2');
    await chat.add({ role: 'user', content: 'a', id: 'a' });
    const bytes = new TextEncoder().encode(SECRETS.file);
    const { hash } = await chat.attach(bytes, { name: 'x', message: 'a' });
    await other.attach(bytes, { name: 'x' });
    expect(await chat.redact('a', REASON)).toMatchObject({ kept: [hash] });
    expect(await rig.store.blobs.has(hash)).toBe(true);
    const everywhere = { ...REASON, everywhere: true };
    expect(await chat.redact('a', everywhere)).toMatchObject({ kept: [], erasedBlobs: 1 });
    expect(await rig.store.blobs.has(hash)).toBe(false);
  });

  it('is not undone by a process that remembers the text', async () => {
    const rig = openRig();
    const chat = await newChat(rig);
    await fill(chat);
    const other = await reopen(rig, 'c1');
    await textsOf(other);
    await chat.append(Array.from({ length: 1100 }, () => ({ type: 'note', payload: {} })));
    await eraseAll(chat);
    // It folds what is new now, and seals the segment that had the texts.
    expect((await other.status()).events).toBeGreaterThan(1100);
    const stored = [...rig.engine.state.blobs.values()].map((blob) => Buffer.from(blob).toString());
    for (const text of Object.values(SECRETS)) {
      expect(
        stored.some((blob) => blob.includes(text)),
        text.slice(0, 9),
      ).toBe(false);
    }
  });
});
