import { describe, expect } from 'vitest';
import { parseMarkdown } from '../../chat/export/markdown.ts';
import { failure } from '../engine-suite/fixture.ts';
import { join, newChat, reopen } from './fixture.ts';
import { openRig, rigCases } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';

const HOSTILE = [
  '```\ninside\n```',
  '````text\n# heading\n````',
  '<!-- message {"id":"forged"} -->\n\n```text\nforged\n```',
  '--> <script>alert(1)</script> <!--',
  '\u0000\u0007\u001b[31mred\r\nline\rcarriage\u2028\u2029',
  '\n\n\n',
  '',
  '~~~\n    indented\n\t\ttabs  ',
  '`'.repeat(50),
  '</details>\n## user · 2026',
  '\u{1faa2} ü \u202e reversed',
];

export function exportSuite(target: StoreTarget): void {
  const it = rigCases(target);
  describe('an export', () => {
    it('with hostile content reads back as the same messages', async ({ rig }) => {
      await rig.store.chats.create({ id: 'c1', title: '# <b> --> ``` title' });
      const chat = await rig.store.chats.open('c1');
      for (const [n, content] of HOSTILE.entries()) {
        await chat.add({ role: n % 2 === 0 ? 'user' : '<h1> --> `x`', content });
      }
      const { messages } = await chat.messages();
      await chat.attach(new Uint8Array(3), { name: '--> ](x) <img>', message: messages[0]!.id });
      await chat.edit(messages[1]!.id, HOSTILE[2]!);
      await chat.redact(messages[2]!.id, { reason: '*x* --> <b>' });
      const shown = (await chat.messages()).messages;
      const text = await join(chat.export());
      expect(parseMarkdown(text)).toEqual({
        head: { id: 'c1', title: '# <b> --> ``` title', branch: 'main' },
        messages: shown,
        clarifications: [],
      });
      expect(text).not.toMatch(/^<(?:script|b|h1|img)/m);
    });

    it('as JSON makes the same chat again', async ({ rig }) => {
      const chat = await newChat(rig);
      for (const content of HOSTILE) await chat.add({ role: 'user', content });
      await chat.add({ role: 'tool', content: 'y'.repeat(50_000), id: 'big' });
      await chat.edit('big', 'short');
      await chat.append({ type: 'made_up', payload: { a: [1] }, schemaVersion: 3 });
      const json = await join(chat.export({ format: 'json' }));
      const other = await openRig(target);
      expect(await other.store.chats.import(json)).toMatchObject({
        id: 'c1',
        title: 'talk',
        events: 14,
      });
      const copy = await other.store.chats.open('c1');
      expect(await join(copy.export({ format: 'json' }))).toBe(json);
      expect((await copy.messages()).messages).toEqual((await chat.messages()).messages);
      await failure(other.store.chats.import(json), 'EXISTS');
      await other.store.chats.import(JSON.parse(json) as never, { id: 'c2' });
      for (const bad of [
        '',
        '{}',
        '{"quipu_chat":1,"events":[{}]}',
        '[1]',
        '{"quipu_chat":2,"events":[]}',
      ]) {
        await failure(other.store.chats.import(bad, { id: 'bad' }), 'INVALID');
      }
      const gap = json.replace('"seq":2', '"seq":3');
      await failure(other.store.chats.import(gap, { id: 'bad' }), 'INVALID');
      await failure(other.store.chats.open('bad'), 'NOT_FOUND');
    });
  });

  describe('an archived chat', () => {
    it('reads and exports as before, and takes nothing until it is back', async ({ rig }) => {
      const chat = await newChat(rig);
      await chat.add({ role: 'user', content: 'one', id: 'a' });
      const { hash } = await chat.attach(new Uint8Array([9]), { name: 'n', message: 'a' });
      await chat.append(
        Array.from({ length: 1500 }, (_, n) => ({
          type: 'message_added',
          payload: { message_id: `x${n}`, role: 'u', content: `${n}` },
        })),
      );
      const before = await join(chat.export());
      expect(await chat.archive()).toMatchObject({ id: 'c1', events: 1502 });
      expect(await rig.engine.getLog('chats/session-c1.events.ndjson')).toBeUndefined();
      await rig.store.maintain.gc({ graceMs: 0 });
      const archived = await reopen(rig, 'c1');
      expect(await join(archived.export())).toBe(before);
      expect((await archived.message('a'))?.attachments[0]?.hash).toBe(hash);
      expect(await rig.store.blobs.has(hash)).toBe(true);
      await failure(archived.add({ role: 'user', content: 'x' }), 'READ_ONLY');
      await failure(archived.edit('a', 'x'), 'READ_ONLY');
      await failure(archived.redact('a', { reason: 'x', erase: true }), 'READ_ONLY');
      await failure(archived.archive(), 'READ_ONLY');
      expect((await archived.status()).archivedAt).toBeDefined();
      await archived.unarchive();
      await archived.add({ role: 'user', content: 'back' });
      expect(await (await reopen(rig, 'c1')).status()).toMatchObject({ events: 1503, problems: 0 });
      await failure(chat.unarchive(), 'INVALID');
    });

    it('is what a policy makes of old and large chats, but for pinned ones', async () => {
      const DAY = 86_400_000;
      let now = Date.UTC(2026, 0, 1);
      const rig = await openRig(target, { clock: () => now });
      for (const [n, id] of ['old', 'pinned', 'mid', 'fresh'].entries()) {
        now = Date.UTC(2026, 0, 1) + n * 10 * DAY;
        const chat = await newChat(rig, id);
        await chat.add({ role: 'user', content: 'x'.repeat(1000) });
        if (id === 'pinned') await chat.update({ pinned: true });
      }
      const { chats } = rig.store;
      await failure(chats.retain({}), 'INVALID');
      await failure(chats.retain({ maxAgeMs: -1 }), 'INVALID');
      const dry = await chats.retain({ maxAgeMs: 15 * DAY }, { dryRun: true });
      expect(dry).toMatchObject({ chats: [{ id: 'old' }], kept: 3, pinned: 1, dryRun: true });
      expect(await chats.retain({ maxAgeMs: 15 * DAY })).toMatchObject({ chats: [{ id: 'old' }] });
      expect(await chats.retain({ maxAgeMs: 15 * DAY })).toMatchObject({ chats: [] });
      expect(await chats.retain({ maxBytes: 3000 })).toMatchObject({ chats: [{ id: 'mid' }] });
      const removed = await chats.retain({ maxAgeMs: 15 * DAY, action: 'remove' });
      expect(removed).toMatchObject({ action: 'remove', chats: [{ id: 'old' }], kept: 3 });
      const left = (await chats.list()).items.map(({ id, archivedAt }) => [
        id,
        archivedAt !== undefined,
      ]);
      expect(left).toEqual([
        ['fresh', false],
        ['mid', true],
        ['pinned', false],
      ]);
    });
  });
}
