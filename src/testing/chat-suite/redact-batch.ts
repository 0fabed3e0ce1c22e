import { describe, expect } from 'vitest';
import type { Chat } from '../../chat/handle/chats.ts';
import type { NewEvent } from '../../chat/events/event.ts';
import { failure } from '../engine-suite/fixture.ts';
import { eventsOf, join, newChat, reopen } from './fixture.ts';
import { blobTexts, openRig, rigCases } from '../store-suite/fixture.ts';
import type { StoreRig } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';

// Invariant: once a batch of questions was redacted, no reader sees its questions and answers. Once it was erased, no
// line and no blob has them. The chat still shows that the batch was asked and how it ended. A redaction that was cut
// off anywhere can be done again.

const SECRETS = ['where does Ana live', 'Lisbon or Porto', 'Rua das Flores 7', 'about Ana'];

async function ask(chat: Chat, id: string): Promise<void> {
  const [text = '', option = '', , title = ''] = SECRETS;
  const questions = [
    { id: 'city', text, kind: 'single', options: [option, 'elsewhere'] },
    { id: 'street', text, kind: 'text' },
  ] as const;
  await chat.ask(questions, { id, title });
}

async function answer(chat: Chat, id: string): Promise<void> {
  await chat.answer(id, [
    { question_id: 'city', value: SECRETS[1] ?? '' },
    { question_id: 'street', value: SECRETS[2] ?? '' },
  ]);
}

const notes = (count: number): NewEvent[] =>
  Array.from({ length: count }, () => ({ type: 'note', payload: {} }));

/** A chat with a batch that was asked, answered and folded away. The segments behind it carry the last answers on. */
async function longChat(rig: StoreRig): Promise<Chat> {
  const chat = await newChat(rig);
  await chat.append(notes(1020));
  await ask(chat, 'b1');
  await chat.append(notes(10));
  await chat.status();
  await answer(chat, 'b1');
  await chat.append(notes(1020));
  await chat.status();
  return chat;
}

async function leftIn({ engine }: StoreRig): Promise<string[]> {
  const texts = [
    ...(await engine.readLog(eventsOf('c1'), 0, 10_000)),
    ...(await blobTexts(engine)),
  ];
  return SECRETS.filter((secret) => texts.some((text) => text.includes(secret)));
}

async function shownBy(chat: Chat): Promise<string[]> {
  const { events } = await chat.events({ limit: 10_000 });
  const followed: unknown[] = [];
  for await (const event of chat.follow()) {
    followed.push(event);
    if (event.seq === events.at(-1)?.seq) break;
  }
  const all = JSON.stringify([await chat.status(), events, followed, await chat.problems()]);
  const document = await join(chat.export({ format: 'json' }));
  return SECRETS.filter((secret) => all.includes(secret) || document.includes(secret));
}

/** Returns whether the nth change was one of the erasure. If so, the erasure is done again, and must be whole then. */
async function isCutOff(target: StoreTarget, nth: number): Promise<boolean> {
  const rig = await openRig(target);
  const chat = await longChat(rig);
  await chat.add({ role: 'user', content: `${SECRETS[3]} ${'x'.repeat(40_000)}`, id: 'm' });
  const stop = failNth(rig, nth);
  const erase = async (reader: Chat): Promise<void> => {
    await reader.redactBatch('b1', { reason: 'private', erase: true });
    await reader.redact('m', { reason: 'private', erase: true });
  };
  const isCut = await erase(chat).then(
    () => false,
    () => true,
  );
  stop();
  if (!isCut) return false;
  const again = await reopen(rig, 'c1');
  await erase(again);
  expect(await leftIn(rig), `${nth}`).toEqual([]);
  return true;
}

/** Makes the nth change of the store the last one: the change is made, and the caller gets no answer. */
function failNth({ engine }: StoreRig, nth: number): () => void {
  let count = 0;
  const failing = <A extends unknown[], T>(work: (...given: A) => Promise<T>) => {
    return async (...given: A): Promise<T> => {
      count += 1;
      if (count > nth) throw new Error('cut off');
      const done = await work(...given);
      if (count === nth) throw new Error('cut off');
      return done;
    };
  };
  const { upkeep } = engine;
  const commit = engine.commit.bind(engine);
  const eraseLines = upkeep.eraseLines.bind(upkeep);
  const eraseBlob = upkeep.eraseBlob.bind(upkeep);
  engine.commit = failing(commit);
  upkeep.eraseLines = failing(eraseLines);
  upkeep.eraseBlob = failing(eraseBlob);
  return () => {
    engine.commit = commit;
    Object.assign(upkeep, { eraseLines, eraseBlob });
  };
}

export function redactBatchSuite(target: StoreTarget): void {
  const it = rigCases(target);
  describe('redacting a batch of questions', () => {
    it('hides it from every reader, and how it ended stays', async ({ rig }) => {
      const chat = await longChat(rig);
      expect(await shownBy(chat)).toEqual(SECRETS);
      const { event } = await chat.redactBatch('b1', { reason: 'private' });
      expect(event).toMatchObject({ type: 'clarification_batch_redacted', seq: 2053 });
      expect(await chat.redactBatch('b1', { reason: 'again' })).not.toHaveProperty('event');
      await failure(chat.redactBatch('nobody', { reason: 'x' }), 'NOT_FOUND');
      await failure(chat.redactBatch('b1', { reason: '' }), 'INVALID');
      for (const reader of [chat, await reopen(rig, 'c1')]) {
        expect(await shownBy(reader)).toEqual([]);
        const { clarification } = await reader.status();
        const last = { batch_id: 'b1', outcome: 'answered', answers: [], redacted: true };
        expect(clarification).toEqual({ answered: 1, dismissed: 0, last });
      }
      expect(await leftIn(rig)).toEqual(SECRETS);
    });

    it('dismisses one that is open', async () => {
      const chat = await newChat(await openRig(target));
      await ask(chat, 'b1');
      await chat.redactBatch('b1', { reason: 'private', erase: true });
      const { clarification } = await chat.status();
      expect(clarification).toMatchObject({ dismissed: 1, last: { outcome: 'dismissed' } });
      expect(clarification).not.toHaveProperty('open');
      await failure(answer(chat, 'b1'), 'INVALID');
      await ask(chat, 'b2');
    });

    it('erases it from lines and folds, and everything else is as it was', async ({ rig }) => {
      const chat = await longChat(rig);
      const before = await chat.status();
      const report = await chat.redactBatch('b1', { reason: 'private', erase: true });
      expect(report).toMatchObject({ erasedLines: 2, unreadableLines: 0 });
      expect(await leftIn(rig)).toEqual([]);
      const again = await reopen(rig, 'c1');
      const after = await again.status();
      expect(after.problems).toBe(before.problems);
      expect(after.clarification).toMatchObject({ answered: 1, last: { redacted: true } });
      expect(await chat.redactBatch('b1', { reason: 'again', erase: true })).toMatchObject({
        erasedLines: 0,
        erasedBlobs: 0,
      });
    });

    it('can be done again, wherever it was cut off', { timeout: 60_000 }, async () => {
      // Where each call takes long, only some of the places are tried.
      const step = target.randomRuns === undefined ? 1 : 5;
      let failing = 1;
      while (await isCutOff(target, failing)) failing += step;
      expect(failing).toBeGreaterThan(5);
    });
  });
}
