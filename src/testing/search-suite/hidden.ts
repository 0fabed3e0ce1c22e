import { describe, expect } from 'vitest';
import type { Store } from '../../store/store.ts';
import { BUNDLE } from '../workflow-suite/fixture.ts';
import { idsOf, say, searchCases } from './fixture.ts';
import type { SearchTarget } from './search-target.ts';

/** A word that stands nowhere else, and whose beginning does not either. */
let count = 0;
function secret(): string {
  count += 1;
  return `${'qzxj'}${count.toString(36)}vkqz${(count * 7919).toString(36)}xq`;
}

export function hiddenSuite(target: SearchTarget): void {
  const it = searchCases(target);
  async function expectGone(store: Store, ...words: readonly string[]): Promise<void> {
    for (const word of words) {
      expect([word, await idsOf(store, word)]).toEqual([word, []]);
      expect([word, await idsOf(store, `${word.slice(0, -2)}*`)]).toEqual([word, []]);
    }
    if (target.indexBytes === undefined) return;
    for (const [where, bytes] of await target.indexBytes(store)) {
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
      for (const word of words)
        expect([where, word, text.includes(word)]).toEqual([where, word, false]);
    }
  }

  describe(`what is hidden from search on ${target.name}`, () => {
    it('is in the index and its bytes before', async ({ store }) => {
      const word = secret();
      await say(store, `it is ${word} here`);
      expect(await idsOf(store, word)).toHaveLength(1);
      if (target.indexBytes === undefined) return;
      const files = [...(await target.indexBytes(store))];
      const has = files.some(([, bytes]) => Buffer.from(bytes).includes(word.slice(0, 8)));
      expect(has).toBe(true);
    });

    it('includes turns that were patched or got a tombstone', async ({ store }) => {
      const [old, gone] = [secret(), secret()];
      const { turns } = await say(store, `says ${old}`, `says ${gone}`, 'says more');
      expect(await idsOf(store, 'says')).toHaveLength(3);
      const [first = '', second = ''] = turns;
      await store.contexts.patch(BigInt(first), { role: 'user', content: 'says otherwise' });
      await store.contexts.tombstone(BigInt(second), 'asked to');
      expect(await idsOf(store, old)).toEqual([]);
      expect(await idsOf(store, gone)).toEqual([]);
      expect(await idsOf(store, 'otherwise')).toEqual([first]);
      expect(await idsOf(store, 'says')).toHaveLength(2);
    });

    it('includes erased turns, to the last byte', async ({ store }) => {
      const words = [secret(), secret(), secret()];
      const { turns } = await say(store, ...words.map((word) => `holds ${word} and a word`));
      expect(await idsOf(store, 'holds')).toHaveLength(3);
      await store.contexts.erase(BigInt(turns[1] ?? 0), { reason: 'asked to' });
      await expectGone(store, words[1] ?? '');
      await store.contexts.erase(BigInt(turns[0] ?? 0), { reason: 'asked to', everywhere: true });
      await expectGone(store, ...words.slice(0, 2));
      expect(await idsOf(store, 'holds')).toEqual([turns[2]]);
      expect(await idsOf(store, words[2] ?? '')).toEqual([turns[2]]);
    });

    it('includes redacted messages and erased ones', async ({ store }) => {
      const words = [secret(), secret(), secret()];
      const chat = await store.chats.open((await store.chats.create()).id);
      const ids: string[] = [];
      for (const word of words)
        ids.push((await chat.add({ role: 'user', content: `holds ${word}` })).id);
      expect(await idsOf(store, 'holds')).toHaveLength(3);
      await chat.redact(ids[0] ?? '', { reason: 'asked to' });
      expect(await idsOf(store, words[0] ?? '')).toEqual([]);
      await chat.redact(ids[1] ?? '', { reason: 'asked to', erase: true });
      await expectGone(store, ...words.slice(0, 2));
      expect(await idsOf(store, 'holds')).toEqual([ids[2]]);
    });

    it('includes steps whose bytes were erased', async ({ store }) => {
      const word = secret();
      const { id } = await store.workflows.start({ bundle: BUNDLE, name: 'w', prompt: 'begin' });
      const { hash } = await store.workflows.step(id, { role: 'r', content: `holds ${word}` });
      expect(await idsOf(store, word)).toEqual([hash]);
      await store.blobs.erase(await contentOf(store, hash), {
        reason: 'asked to',
        everywhere: true,
      });
      await expectGone(store, word);
    });

    it('includes what a collection removed', async ({ store }) => {
      const word = secret();
      const { context, turns } = await say(store, 'stays', `goes ${word}`);
      const kept = await store.contexts.fork(BigInt(turns[0] ?? 0));
      expect(await idsOf(store, 'goes')).toHaveLength(1);
      await store.contexts.remove(BigInt(context));
      expect(await idsOf(store, 'goes')).toEqual([]);
      expect(await idsOf(store, 'stays')).toEqual([turns[0]]);
      await store.maintain.gc({ graceMs: 0 });
      await expectGone(store, word);
      expect(await idsOf(store, `stays context:${kept.id}`)).toEqual([turns[0]]);
    });
  });
}

/** The blob with what was said in a step. */
async function contentOf(store: Store, state: string): Promise<string> {
  const node = JSON.parse(Buffer.from((await store.blobs.get(state)) ?? []).toString()) as {
    refs: string[];
  };
  return node.refs[2] ?? '';
}
