import { join as joinPath } from 'node:path';
import { expect, it } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { filesIn } from '../health/files-in.ts';
import { findTexts } from '../../src/testing/health-suite/erase-scene.ts';
import { textsOf } from '../../src/testing/chat-suite/fixture.ts';
import { fill, REASON, SECRETS } from '../../src/testing/chat-suite/secrets.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

/*
 * Invariant: once a message was redacted with `erase`, no file of the store has its text in any form, be it
 * in lines, blobs, folds, archives or the journal, nor has a backup made after it; everything else is as
 * it was.
 */

it('redaction with erasure leaves the text nowhere', { timeout: 60_000 }, async () => {
  const place = freshFolder();
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
  // Which lines, and no hash of them: that would let anyone check a guess.
  expect(report.event?.payload['lines']).toEqual([{ seq: 2 }, { seq: 3 }, { seq: 1039 }]);
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
