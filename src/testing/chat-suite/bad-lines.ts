import { describe, expect } from 'vitest';
import type { Engine } from '../../engine/engine.ts';
import { eventsOf, newChat, reopen, textsOf } from './fixture.ts';
import { openBeside, rigCases } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';

// A chat opens whatever its log or its document holds. The chat reports each problem and its place, shows the rest, and
// keeps every byte.

const EVENT = { schema_version: 1, event_id: '01J', at: '2026-11-15T00:00:00.000Z' };

async function putLines(engine: Engine, ...events: readonly unknown[]): Promise<string[]> {
  const lines = events.map((event) => JSON.stringify(event));
  await engine.commit({ logs: [{ do: 'append', name: eventsOf('c1'), lines }] });
  return lines;
}

const message = (seq: number, id: string): object => ({
  ...EVENT,
  seq,
  type: 'message_added',
  payload: { message_id: id, role: 'user', content: id },
});

export function badLinesSuite(target: StoreTarget): void {
  const it = rigCases(target);
  describe('a log with lines that are wrong', () => {
    it('opens, tells of them once, and shows the rest', async ({ rig }) => {
      await newChat(rig);
      const lines = await putLines(
        rig.engine,
        message(1, 'a'),
        'a torn lin',
        { ...EVENT, seq: 3, type: 'message_added' },
        {
          ...EVENT,
          seq: 4,
          type: 'message_added',
          payload: { message_id: 'b', role: 'user', content: 7 },
        },
        { ...EVENT, seq: 5, type: 'party_started', payload: { hats: 2 } },
        { ...EVENT, seq: 6, type: 'party_started', payload: { hats: 3 } },
        { ...EVENT, seq: 7, schema_version: 9, type: 'message_added', payload: { body: 'new' } },
        {
          ...EVENT,
          seq: 8,
          type: 'message_edited',
          payload: { message_id: 'nobody', content: 'x' },
        },
        {
          ...EVENT,
          seq: 9,
          type: 'clarification_answer_submitted',
          payload: { batch_id: 'q', answers: [] },
        },
        message(99, 'c'),
        [],
        { seq: 12, type: 'message_added', payload: {}, schema_version: 'one' },
      );
      const chat = await reopen(rig, 'c1');
      const problems = await chat.problems();
      expect(problems.map(({ seq, kind }) => `${seq} ${kind}`)).toEqual([
        '2 not-an-event',
        '3 not-an-event',
        '4 payload',
        '5 unknown-type',
        '7 newer-version',
        '8 unknown-message',
        '9 clarification',
        '10 sequence',
        '11 not-an-event',
        '12 not-an-event',
      ]);
      expect(await textsOf(chat)).toEqual(['a', 'c']);
      await chat.add({ role: 'user', content: 'd' });
      expect(await rig.engine.readLog(eventsOf('c1'), 0, 12)).toEqual(lines);
      expect(await chat.status()).toMatchObject({ events: 13 });
      let text = '';
      for await (const piece of chat.export({ format: 'json' })) text += piece;
      expect((JSON.parse(text) as { events: unknown[] }).events[1]).toEqual({
        seq: 2,
        line: '"a torn lin"',
      });
    });

    it('opens without its document, and with one that says nonsense', async ({ rig }) => {
      await putLines(rig.engine, message(1, 'a'));
      const lone = await reopen(rig, 'c1');
      expect((await lone.problems())[0]).toMatchObject({ seq: 0, kind: 'metadata' });
      expect(await textsOf(lone)).toEqual(['a']);
      expect((await rig.store.chats.list()).items).toMatchObject([{ id: 'c1', events: 1 }]);
      const name = 'chats/session-c1.meta.json';
      const content = '{"session_id":"other","created_at":5,"title":"kept","pinned":"yes"}';
      await rig.engine.commit({ docs: [{ name, content }] });
      const odd = await reopen(rig, 'c1');
      const [problem] = await odd.problems();
      expect(problem?.message).toBe(
        'it is about "other", created_at is of another kind, pinned is of another kind',
      );
      expect(await odd.status()).toMatchObject({ title: 'kept', pinned: false });
      // Writing to the chat again leaves a document that fits.
      await odd.add({ role: 'user', content: 'b' });
      expect(await (await reopen(rig, 'c1')).problems()).toEqual([]);
    });

    it('shows what stands around damage', async ({ rig }) => {
      const chat = await newChat(rig);
      for (let n = 0; n < 20; n += 1)
        await chat.add({ role: 'user', content: `${n}`, id: `m${n}` });
      await target.spoilLine(rig, eventsOf('c1'), 7);
      const again = await openBeside(rig);
      const damaged = await again.store.chats.open('c1');
      expect(await damaged.problems()).toMatchObject([{ seq: 8, kind: 'unreadable' }]);
      expect(await textsOf(damaged)).toEqual(
        Array.from({ length: 20 }, (_, n) => `${n}`).filter((n) => n !== '7'),
      );
      // The problem is shown once, in its place, on whichever page that is.
      const shown: unknown[] = [];
      for (let before: number | undefined = Infinity; before !== undefined;) {
        const page = await damaged.messages({ limit: 3, ...(before !== Infinity && { before }) });
        shown.unshift(...page.messages.map(({ seq, damaged: why }) => [seq, why !== undefined]));
        ({ before } = page);
      }
      expect(shown).toEqual(Array.from({ length: 20 }, (_, n) => [n + 1, n === 7]));
      await expect(damaged.archive()).rejects.toMatchObject({ code: 'CORRUPT' });
      await expect(again.store.maintain.gc({ graceMs: 0 })).rejects.toMatchObject({
        code: 'CORRUPT',
      });
    });
  });

  describe('newer payloads', () => {
    it('are read by upcasters, and files stay as they were', async ({ rig }) => {
      const chat = await newChat(rig);
      await chat.append({ type: 'vote', payload: { choice: 'a' } });
      await chat.append({ type: 'vote', payload: { choices: ['b', 'c'] }, schemaVersion: 2 });
      await chat.append({
        type: 'message_added',
        schemaVersion: 2,
        payload: { message_id: 'x', role: 'u', content: 'new', mood: 1 },
      });
      await chat.add({ role: 'user', content: 'old' });
      expect((await chat.problems()).map(({ kind }) => kind)).toEqual([
        'unknown-type',
        'unknown-type',
        'newer-version',
      ]);
      const before = await rig.engine.readLog(eventsOf('c1'), 0, 10);
      const chats = rig.store.chats.upcasting([
        { type: 'vote', from: 1, upcast: ({ choice }) => ({ choices: [choice] }) },
        { type: 'message_added', from: 1, upcast: (payload) => ({ ...payload, mood: 0 }) },
      ]);
      const lifted = await chats.open('c1');
      const { state, snapshot } = await lifted.project({
        name: 'votes',
        version: 1,
        initial: (): string[] => [],
        apply: (votes, { type, payload }) =>
          type === 'vote' ? [...votes, ...(payload['choices'] as string[])] : votes,
      });
      expect(state).toEqual(['a', 'b', 'c']);
      expect(snapshot).toMatchObject({ name: 'votes', seq: 4 });
      expect(await lifted.problems()).toEqual([]);
      expect(await textsOf(lifted)).toEqual(['new', 'old']);
      expect(await rig.engine.readLog(eventsOf('c1'), 0, 10)).toEqual(before);
      const failing = rig.store.chats.upcasting([
        {
          type: 'vote',
          from: 1,
          upcast: () => {
            throw new TypeError('secret');
          },
        },
      ]);
      const problems = await (await failing.open('c1')).problems();
      expect(problems[0]?.message).toBe('the upcaster from version 1 failed with TypeError');
    });
  });
}
