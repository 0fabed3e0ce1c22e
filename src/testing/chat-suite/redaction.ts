import { describe, expect } from 'vitest';
import type { Chat } from '../../chat/handle/chats.ts';
import { failure } from '../engine-suite/fixture.ts';
import { blobTexts, rigCases } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { eventsOf, join, newChat, reopen, textsOf } from './fixture.ts';
import { fill, REASON, SECRETS } from './secrets.ts';

async function eraseAll(chat: Chat): Promise<void> {
  for (const id of ['s', 'st', 'h']) await chat.redact(id, REASON);
}

export function redactionSuite(target: StoreTarget): void {
  const it = rigCases(target);
  describe('redaction', () => {
    it('hides a message from every reader, for good', async ({ rig }) => {
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

    it('is seen to fail when the lines stay as they were', async ({ rig }) => {
      rig.engine.upkeep.eraseLines = async () => undefined;
      const chat = await newChat(rig);
      await fill(chat);
      // A caller that looks again finds that the lines are still there.
      await failure(eraseAll(chat), 'INVALID');
      expect((await rig.engine.readLog(eventsOf('c1'), 0, 20)).join()).toContain(SECRETS.added);
    });

    it('keeps the bytes of an attachment that another chat has, unless told otherwise', async ({
      rig,
    }) => {
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

    it('is not undone by a process that remembers the text', async ({ rig }) => {
      const chat = await newChat(rig);
      await fill(chat);
      const other = await reopen(rig, 'c1');
      await textsOf(other);
      await chat.append(Array.from({ length: 1100 }, () => ({ type: 'note', payload: {} })));
      await eraseAll(chat);
      // The chat folds the new events now, and seals the segment that had the texts.
      expect((await other.status()).events).toBeGreaterThan(1100);
      const stored = await blobTexts(rig.engine);
      for (const text of Object.values(SECRETS)) {
        expect(
          stored.some((blob) => blob.includes(text)),
          text.slice(0, 9),
        ).toBe(false);
      }
    });
  });
}
