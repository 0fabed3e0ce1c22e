import { describe, expect, it } from 'vitest';
import type { Hash } from '../../base/brand.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { hashBytes } from '../../base/hash.ts';
import { encodeUtf8 } from '../../base/text.ts';
import { failure } from '../engine-suite/fixture.ts';
import { countBlobs } from '../store-suite/fixture.ts';
import type { StoreRig } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { BUNDLE, openWorkflows } from './fixture.ts';

const INDEX = `workflows/bundles/${BUNDLE}/threads.json`;

async function startThread(
  { store }: StoreRig,
  steps: number,
): Promise<{ id: string; hashes: Hash[] }> {
  const { id } = await store.workflows.start({
    name: 'x',
    bundle: BUNDLE,
    prompt: 'p',
    maxRounds: 1000,
  });
  const hashes: Hash[] = [];
  for (let n = 0; n < steps; n += 1) {
    hashes.push((await store.workflows.step(id, { role: 'r', content: `${n}` })).hash);
  }
  return { id, hashes };
}

/** Puts a node of any shape, as a faulty program would. */
async function putNode({ engine }: StoreRig, node: unknown): Promise<Hash> {
  const bytes = encodeUtf8(canonicalJson(node));
  const hash = hashBytes(bytes);
  await engine.commit({ blobs: [{ hash, bytes }] });
  return hash;
}

export function badInputSuite(target: StoreTarget): void {
  describe('a chain that is damaged', () => {
    it('names the node that is missing, wherever it is, and loses nothing else', async () => {
      const opened = await openWorkflows(target);
      const { engine, store } = opened;
      const { id, hashes } = await startThread(opened, 20);
      for (const gone of [hashes[15]!, hashes[2]!]) {
        const bytes = (await engine.getBlob(gone))!;
        await engine.upkeep.eraseBlob(gone);
        const error = await failure(store.workflows.steps(id, { limit: 20 }), 'NOT_FOUND');
        expect(error.message).toContain(gone);
        const fork = await failure(store.workflows.fork(id, { at: gone }), 'NOT_FOUND');
        expect(fork.message).toContain(gone);
        // The steps after it can be read, and the thread goes on.
        expect((await store.workflows.steps(id, { limit: 4 })).steps).toHaveLength(4);
        await engine.commit({ blobs: [{ hash: gone, bytes }] });
      }
      expect((await store.workflows.steps(id, { limit: 50 })).steps).toHaveLength(20);
    });

    const content = 'c'.repeat(64);
    const payload = { role: 'r', meta: {}, timestamp: 1 };
    const wrong: Record<string, unknown> = {
      'is no object': [],
      'has another type': { type: 'turn', payload, refs: [] },
      'has an unknown field': { type: 'state', payload, refs: [content, null, content], more: 1 },
      'has an unknown field in its payload': {
        type: 'state',
        payload: { ...payload, content: '' },
        refs: [content, null, content],
      },
      'has no time': {
        type: 'state',
        payload: { role: 'r', meta: {} },
        refs: [content, null, content],
      },
      'has no content': { type: 'state', payload, refs: [content, null] },
      'has a ref that is no hash': { type: 'state', payload, refs: [content, 'x', content] },
      'has ancestors without a parent': {
        type: 'state',
        payload,
        refs: [content, null, content, content],
      },
      'has eleven ancestors': {
        type: 'state',
        payload,
        refs: [content, content, content, ...Array.from({ length: 11 }, () => content)],
      },
      'is a start': {
        type: 'start',
        payload: { name: 'x', hash: content, maxRounds: 1, depth: 0 },
        refs: [content],
      },
      'is a content': { type: 'content', payload: '', refs: [] },
    };

    it.each(Object.entries(wrong))('names a node that %s', async (_, node) => {
      const opened = await openWorkflows(target);
      const { engine, store } = opened;
      const { id } = await startThread(opened, 1);
      const hash = await putNode(opened, node);
      const { version, content: text } = (await engine.getDoc(INDEX))!;
      const entries = JSON.parse(text) as Record<string, { head: string }>;
      entries[id]!.head = hash;
      await engine.commit({
        docs: [{ name: INDEX, content: JSON.stringify(entries), expectedVersion: version }],
      });
      const error = await failure(store.workflows.steps(id), 'CORRUPT');
      expect(error.message).toContain(hash);
      await failure(store.workflows.step(id, { role: 'r', content: '' }), 'CORRUPT');
    });

    it('is noticed when a skip list lies about the chain', async () => {
      const opened = await openWorkflows(target);
      const { engine, store } = opened;
      const { id, hashes } = await startThread(opened, 4);
      const { start } = (await store.workflows.get(id))!;
      const body = Buffer.from((await engine.getBlob(hashes[3]!))!).toString();
      const last = JSON.parse(body) as { refs: (string | null)[] };
      const [first, second] = hashes;
      const lieWith = async (...ancestors: string[]): Promise<Hash> => {
        const liar = { ...last, refs: [start, hashes[3]!, last.refs[2]!, ...ancestors] };
        const head = await putNode(opened, liar);
        const content = JSON.stringify({ [id]: { head, start, updatedAt: 1 } });
        await engine.commit({ docs: [{ name: INDEX, content }] });
        return head;
      };
      const gap = await lieWith(second!, first!);
      expect((await failure(store.workflows.steps(id), 'CORRUPT')).message).toContain(gap);
      const swapped = await lieWith(first!, second!);
      const fork = await failure(store.workflows.fork(id, { at: first! }), 'CORRUPT');
      expect(fork.message).toContain(swapped);
    });
  });

  describe('threads.json that is nonsense', () => {
    const texts = ['[]', '"x"', '{"a":1}', `{"${'0'.repeat(26)}":{"head":"x"}}`];

    it.each(texts)('as %s is an error that names it, and nothing is lost', async (text) => {
      const opened = await openWorkflows(target);
      const { engine, store } = opened;
      const { id } = await startThread(opened, 2);
      const good = (await engine.getDoc(INDEX))!.content;
      await engine.commit({ docs: [{ name: INDEX, content: text }] });
      for (const call of [
        () => store.workflows.steps(id),
        () => store.workflows.step(id, { role: 'r', content: '' }),
        () => store.workflows.start({ name: 'x', bundle: BUNDLE, prompt: '' }),
        () => store.workflows.list(),
        () => store.maintain.gc({ graceMs: 0 }),
      ]) {
        const error = await failure(call(), 'CORRUPT');
        expect(error.message).toContain(INDEX);
      }
      expect((await engine.getDoc(INDEX))?.content).toBe(text);
      await engine.commit({ docs: [{ name: INDEX, content: good }] });
      expect((await store.workflows.steps(id)).steps).toHaveLength(2);
    });

    it('without a thread that has not ended says which one it lacks', async () => {
      const opened = await openWorkflows(target);
      const { id } = await startThread(opened, 1);
      await opened.engine.commit({ docs: [{ name: INDEX, content: '{}' }] });
      const error = await failure(opened.store.workflows.get(id), 'CORRUPT');
      expect(error.message).toContain(id);
    });
  });

  describe('arguments that are wrong', () => {
    it('are refused and change nothing', async () => {
      const opened = await openWorkflows(target);
      const { engine, store } = opened;
      const { workflows } = store;
      const { id } = await startThread(opened, 1);
      const before = [await countBlobs(engine), (await engine.getDoc(INDEX))?.version];
      const step = { role: 'r', content: 'c' };
      const wrong: (() => Promise<unknown>)[] = [
        () => workflows.start({ name: 'Upper', bundle: BUNDLE, prompt: '' }),
        () => workflows.start({ name: 'x', bundle: 'b' as Hash, prompt: '' }),
        () => workflows.start({ name: 'x', bundle: BUNDLE, prompt: 5 as never }),
        () => workflows.start({ name: 'x', bundle: BUNDLE, prompt: '', maxRounds: -1 }),
        () => workflows.start({ name: 'x', bundle: BUNDLE, prompt: '', depth: 17 }),
        () => workflows.step('x', step),
        () => workflows.step(id, { ...step, role: '' }),
        () => workflows.step(id, { ...step, role: '__end__' }),
        () => workflows.step(id, { ...step, content: '\ud800' }),
        () => workflows.step(id, { ...step, meta: [] as never }),
        () => workflows.step(id, { ...step, meta: { a: 1n } }),
        () => workflows.step(id, { ...step, refs: ['x'] }),
        () => workflows.step(id, { ...step, compact: '' }),
        () => workflows.end(id, { returnCode: 256 }),
        () => workflows.compact(id, ''),
        () => workflows.compact(id, {} as never),
        () => workflows.steps(id, { limit: 0 }),
        () => workflows.list({ state: 'x' as never }),
        () => workflows.bundles.add(''),
        () => workflows.bundles.add(5 as never),
      ];
      for (const call of wrong) await failure(call(), 'INVALID');
      await failure(workflows.step(id, { ...step, content: 'x'.repeat(9_000_000) }), 'TOO_LARGE');
      await failure(workflows.start({ name: 'unknown', prompt: '' }), 'NOT_FOUND');
      await failure(workflows.step('0'.repeat(26), step), 'NOT_FOUND');
      expect([await countBlobs(engine), (await engine.getDoc(INDEX))?.version]).toEqual(before);
    });
  });
}
