import { describe, expect } from 'vitest';
import { openRig, rigCases } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { eventsOf, newChat, textsOf } from './fixture.ts';

// Lines that this version writes, and that every later version must read. A change here is a change of the format, and
// needs another schema version.

const AT = '2026-11-15T12:00:00.000Z';
export const GOLDEN: readonly string[] = [
  '{"schema_version":1,"seq":1,"event_id":"E","at":"2026-11-15T12:00:00.000Z","type":"message_added","payload":{"message_id":"m1","role":"user","content":"hi"}}',
  '{"schema_version":1,"seq":2,"event_id":"E","at":"2026-11-15T12:00:00.000Z","type":"message_stream_delta","payload":{"message_id":"m2","role":"assistant","delta":"he"}}',
  '{"schema_version":1,"seq":3,"event_id":"E","at":"2026-11-15T12:00:00.000Z","type":"message_completed","payload":{"message_id":"m2","role":"assistant","content":"hello","model":"x","usage":{"input_tokens":1,"output_tokens":2}}}',
  '{"schema_version":1,"seq":4,"event_id":"E","at":"2026-11-15T12:00:00.000Z","type":"message_edited","payload":{"message_id":"m1","content":"hi there"}}',
  '{"schema_version":1,"seq":5,"event_id":"E","at":"2026-11-15T12:00:00.000Z","type":"thread_forked","payload":{"new_thread_id":"t","parent_message_id":"m1"}}',
  '{"schema_version":1,"seq":6,"event_id":"E","at":"2026-11-15T12:00:00.000Z","type":"message_added","payload":{"message_id":"m3","role":"user","thread_id":"t","content":"ü"}}',
  '{"schema_version":1,"seq":7,"event_id":"E","at":"2026-11-15T12:00:00.000Z","type":"clarification_batch_opened","payload":{"batch_id":"b","title":"t","questions":[{"id":"q","text":"?","kind":"yes_no"}]}}',
  '{"schema_version":1,"seq":8,"event_id":"E","at":"2026-11-15T12:00:00.000Z","type":"clarification_answer_submitted","payload":{"batch_id":"b","answers":[{"question_id":"q","value":"yes"}]}}',
  '{"schema_version":1,"seq":9,"event_id":"E","at":"2026-11-15T12:00:00.000Z","type":"attachment_added","payload":{"attachment_id":"A","message_id":"m1","name":"n","media_type":"text/plain","hash":"2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213","size":1}}',
  '{"schema_version":1,"seq":10,"event_id":"E","at":"2026-11-15T12:00:00.000Z","type":"message_added","payload":{"message_id":"m4","role":"tool","payload_ref":{"hash":"7f8afe50a27273296edc77f7b4f2b1f021e350e42360c4dac57734bb86b2a52a","size":40046}}}',
  '{"schema_version":1,"seq":11,"event_id":"E","at":"2026-11-15T12:00:00.000Z","type":"message_redacted","payload":{"message_id":"m2","reason":"r"}}',
  '{"schema_version":1,"seq":12,"event_id":"E","at":"2026-11-15T12:00:00.000Z","type":"clarification_batch_redacted","payload":{"batch_id":"b","reason":"r"}}',
];
const META = `{
  "session_id": "c1",
  "created_at": "${AT}",
  "updated_at": "${AT}",
  "title": "talk",
  "schema_version": 1,
  "pinned": false
}
`;

/** Replaces the random ids. */
const steady = (line: string): string =>
  line
    .replace(/"event_id":"[0-9A-Z]{26}"/, '"event_id":"E"')
    .replace(/"attachment_id":"[0-9a-z]{26}"/, '"attachment_id":"A"');

export function formatSuite(target: StoreTarget): void {
  const it = rigCases(target);
  describe('version 1 of the files of a chat', () => {
    it('is written as ever', async () => {
      const rig = await openRig(target, { clock: () => Date.parse(AT) });
      const chat = await newChat(rig);
      await chat.add({ role: 'user', content: 'hi', id: 'm1' });
      const stream = await chat.stream({ role: 'assistant', id: 'm2' });
      await stream.write('he');
      await stream.complete('hello', { model: 'x', usage: { inputTokens: 1, outputTokens: 2 } });
      await chat.edit('m1', 'hi there');
      await chat.fork('m1', { branch: 't' });
      await chat.add({ role: 'user', content: 'ü', id: 'm3', branch: 't' });
      const batch = await chat.ask([{ id: 'q', text: '?', kind: 'yes_no' }], {
        id: 'b',
        title: 't',
      });
      await chat.answer(batch, [{ question_id: 'q', value: 'yes' }]);
      await chat.attach(new Uint8Array([0]), { name: 'n', mediaType: 'text/plain', message: 'm1' });
      await chat.add({ role: 'tool', content: 'x'.repeat(40_000), id: 'm4' });
      await chat.redact('m2', { reason: 'r' });
      await chat.redactBatch('b', { reason: 'r' });
      const lines = await rig.engine.readLog(eventsOf('c1'), 0, 100);
      expect(lines.map(steady)).toEqual(GOLDEN);
      expect((await rig.engine.getDoc('chats/session-c1.meta.json'))?.content).toBe(META);
    });

    it('is read as ever', async ({ rig }) => {
      await rig.engine.commit({
        logs: [{ do: 'append', name: eventsOf('c1'), lines: GOLDEN }],
        docs: [{ name: 'chats/session-c1.meta.json', content: META }],
      });
      const chat = await rig.store.chats.open('c1');
      expect(await textsOf(chat, 't')).toEqual(['hi there', 'ü']);
      expect((await chat.messages()).messages).toMatchObject([
        { id: 'm1', content: 'hi there', edits: 1, attachments: [{ name: 'n', size: 1 }] },
        { id: 'm2', content: '', redacted: { reason: 'r', erased: false } },
        { id: 'm4', content: '', missing: true },
      ]);
      expect(await chat.status()).toMatchObject({
        title: 'talk',
        problems: 0,
        clarification: { answered: 1 },
        usage: { inputTokens: 1, outputTokens: 2 },
      });
    });
  });
}
