import { describe, expect, it } from 'vitest';
import type { Hash } from '../../base/brand.ts';
import { encodeUtf8 } from '../../base/text.ts';
import type { StateNode } from '../../workflow/home/nodes.ts';
import { toThreadId } from '../../workflow/home/workflows-home.ts';
import type { IndexChange, Workflows } from '../../workflow/threads/workflows.ts';
import { failure } from '../engine-suite/fixture.ts';
import { blobHashes, countBlobs } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { BUNDLE, openWorkflows } from './fixture.ts';
import { eachPage } from '../../base/pages.ts';

async function chain(workflows: Workflows, steps: number): Promise<{ id: string; hashes: Hash[] }> {
  const { id } = await workflows.start({
    name: 'solve',
    bundle: BUNDLE,
    prompt: 'fix it',
    maxRounds: 100,
  });
  const hashes: Hash[] = [];
  for (let n = 1; n <= steps; n += 1) {
    const step = await workflows.step(id, {
      role: n % 2 === 0 ? 'coder' : 'planner',
      content: `${n}`,
    });
    hashes.push(step.hash);
  }
  return { id, hashes };
}

const INDEX = `workflows/bundles/${BUNDLE}/threads.json`;

export function threadsSuite(target: StoreTarget): void {
  describe('a thread', () => {
    it('is a chain of nodes with the positions of the format', async () => {
      const { engine, store } = await openWorkflows(target);
      const { id, hashes } = await chain(store.workflows, 15);
      const node = JSON.parse(
        Buffer.from((await engine.getBlob(hashes[14]!))!).toString(),
      ) as StateNode;
      const { start } = (await store.workflows.get(id))!;
      const [n14, n13] = [hashes[13]!, hashes[12]!];
      expect(node.refs.slice(0, 2)).toEqual([start, n14]);
      expect(node.refs.slice(3)).toEqual(hashes.slice(3, 13).toReversed());
      expect(node.refs[3]).toBe(n13);
      expect(node.payload).toMatchObject({ role: 'planner', meta: {} });
      const first = JSON.parse(
        Buffer.from((await engine.getBlob(hashes[0]!))!).toString(),
      ) as StateNode;
      expect(first.refs).toEqual([start, null, first.refs[2]]);
      const content = await engine.getBlob(first.refs[2]);
      expect(Buffer.from(content!).toString()).toBe('{"payload":"1","refs":[],"type":"content"}');
      const startNode = JSON.parse(
        Buffer.from((await engine.getBlob(start))!).toString(),
      ) as object;
      expect(startNode).toMatchObject({
        type: 'start',
        payload: { name: 'solve', hash: BUNDLE, maxRounds: 100, depth: 0 },
      });
    });

    it('is in threads.json while it is under way and in the history afterwards', async () => {
      const { engine, store } = await openWorkflows(target);
      const { id, hashes } = await chain(store.workflows, 1);
      const { start, updatedAt } = (await store.workflows.get(id))!;
      const entry = { [id]: { head: hashes[0], start, updatedAt } };
      expect((await engine.getDoc(INDEX))?.content).toBe(
        `${JSON.stringify(entry, undefined, 2)}\n`,
      );
      const end = await store.workflows.end(id, { summary: 'done' });
      expect(end).toMatchObject({ role: '__end__', meta: { returnCode: 0, summary: 'done' } });
      expect((await engine.getDoc(INDEX))?.content).toBe('{}\n');
      const lines = await engine.readLog(
        `workflows/bundles/${BUNDLE}/history/2026-11-15.jsonl`,
        0,
        9,
      );
      const line = { threadId: id, head: end.hash, start, completedAt: end.timestamp };
      expect(lines).toEqual([JSON.stringify(line)]);
      expect(await store.workflows.get(id)).toMatchObject({ state: 'completed', head: end.hash });
      await failure(store.workflows.step(id, { role: 'coder', content: 'x' }), 'HEAD_MOVED');
      await failure(store.workflows.end(id), 'HEAD_MOVED');
    });

    it('is forked at any step without a copy, by hash, role and number', async () => {
      const { engine, store } = await openWorkflows(target);
      const { workflows } = store;
      const { id, hashes } = await chain(workflows, 15);
      const blobs = await countBlobs(engine);
      const headOf = async (at?: string | number): Promise<Hash> =>
        (await workflows.fork(id, at === undefined ? {} : { at })).head;
      expect(await headOf()).toBe(hashes[14]);
      expect(await headOf(hashes[2])).toBe(hashes[2]);
      expect(await headOf('coder')).toBe(hashes[13]);
      expect(await headOf(0)).toBe(hashes[0]);
      expect(await headOf(-2)).toBe(hashes[13]);
      const { start } = (await workflows.get(id))!;
      expect(await headOf(start)).toBe(start);
      expect(await countBlobs(engine)).toBe(blobs);
      await workflows.end(id);
      expect(await headOf()).toBe(hashes[14]);
      // Nothing comes after an end: a fork there goes on from the step before it.
      const { head: end } = (await workflows.get(id))!;
      expect(await headOf(end)).toBe(hashes[14]);
      expect(await headOf('__end__')).toBe(hashes[14]);
      const empty = await workflows.start({ name: 'solve', bundle: BUNDLE, prompt: 'p' });
      await workflows.end(empty.id);
      const { head: only } = (await workflows.get(empty.id))!;
      expect((await workflows.fork(empty.id, { at: only })).head).toBe(empty.start);
      for (const at of [15, -16, 'nobody', 'c'.repeat(64)]) {
        await failure(workflows.fork(id, { at }), 'NOT_FOUND');
      }
      await failure(workflows.fork(id, { at: 0.5 }), 'INVALID');
      const fork = await workflows.fork(id, { at: 4 });
      const step = await workflows.step(fork.id, { role: 'other', content: 'another way' });
      expect(step.parent).toBe(hashes[4]);
      const { steps } = await workflows.steps(fork.id);
      expect(steps.map(({ content }) => content)).toEqual(['1', '2', '3', '4', '5', 'another way']);
    });

    it('takes no more steps than it has rounds', async () => {
      const { store } = await openWorkflows(target);
      const { workflows } = store;
      const given = { name: 'solve', bundle: BUNDLE, prompt: 'p', maxRounds: 2 };
      const { id } = await workflows.start(given);
      await workflows.step(id, { role: 'a', content: '1' });
      await workflows.compact(id, 'a summary is no round');
      await workflows.step(id, { role: 'a', content: '2' });
      const third = { role: 'a', content: '3' };
      const { message } = await failure(workflows.step(id, third), 'INVALID');
      expect(message).toContain('2 rounds');
      const fork = await workflows.fork(id, { at: 0 });
      await workflows.step(fork.id, third);
      await failure(workflows.step(fork.id, third), 'INVALID');
      const both = await workflows.start(given);
      await workflows.step(both.id, third);
      const raced = await Promise.allSettled([1, 2, 3].map(() => workflows.step(both.id, third)));
      expect(raced.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      await workflows.end(id, { summary: 'over' });
      expect(await workflows.get(id)).toMatchObject({ state: 'completed' });
    });

    it('says its name, its prompt and how it ended', async () => {
      const { engine, store } = await openWorkflows(target);
      const { workflows } = store;
      const prompt = 'p'.repeat(300);
      const ids: string[] = [];
      for (const [n, end] of [undefined, 0, 1, 2, 130].entries()) {
        const { id } = await workflows.start({ name: `w${n}`, bundle: BUNDLE, prompt });
        ids.push(id);
        if (end === 130) await workflows.kill(id, 'enough');
        else if (end !== undefined) await workflows.end(id, { returnCode: end, summary: 's' });
      }
      const { items } = await workflows.list({ state: 'all', details: true });
      const told = ids.map((id) => items.find((item) => item.id === id));
      const cut = `${'p'.repeat(200)}…`;
      expect(told).toMatchObject([
        { name: 'w0', prompt: cut, state: 'active' },
        { name: 'w1', prompt: cut, outcome: 'completed', returnCode: 0, summary: 's' },
        { outcome: 'failed', returnCode: 1 },
        { outcome: 'failed', returnCode: 2 },
        { outcome: 'killed', returnCode: 130, summary: 'enough' },
      ]);
      expect(told[0]?.outcome).toBeUndefined();
      expect(await workflows.get(ids[1]!, { details: true })).toMatchObject({ name: 'w1', prompt });
      // A lost node takes its facts along, and no thread.
      const { start } = (await workflows.get(ids[1]!))!;
      const viewBlob = engine.viewBlob.bind(engine);
      engine.viewBlob = async (hash) => (hash === start ? undefined : viewBlob(hash));
      const lost = await workflows.get(ids[1]!, { details: true });
      expect(lost).toMatchObject({ id: ids[1], outcome: 'completed', returnCode: 0 });
      expect(lost?.name).toBeUndefined();
    });

    it('is read in pages, newest last', async () => {
      const { workflows } = (await openWorkflows(target)).store;
      const { id } = await chain(workflows, 25);
      const pages: string[][] = [];
      let before: string | undefined;
      do {
        const page = await workflows.steps(id, {
          limit: 10,
          ...(before !== undefined && { before }),
        });
        pages.push(page.steps.map(({ content }) => content ?? ''));
        before = page.cursor;
      } while (before !== undefined);
      expect(pages.map((page) => [page[0], page.at(-1)])).toEqual([
        ['16', '25'],
        ['6', '15'],
        ['1', '5'],
      ]);
    });

    it('shows a context from the newest summary on', async () => {
      const { workflows } = (await openWorkflows(target)).store;
      const { id, hashes } = await chain(workflows, 5);
      expect(await workflows.context(id)).toMatchObject({ start: { prompt: 'fix it' } });
      await workflows.compact(
        id,
        (context) => `five: ${context.steps.map((s) => s.content).join()}`,
      );
      await workflows.step(id, { role: 'coder', content: 'six' });
      const context = await workflows.context(id);
      expect(context.summary).toBe('five: 1,2,3,4,5');
      expect(context.steps.map(({ content }) => content)).toEqual(['six']);
      // A step may carry a summary of the steps before it, and is shown itself.
      await workflows.step(id, { role: 'coder', content: 'seven', compact: 'six steps' });
      expect(await workflows.context(id)).toMatchObject({
        summary: 'six steps',
        steps: [{ content: 'seven' }],
      });
      const early = await workflows.fork(id, { at: hashes[3]! });
      expect((await workflows.context(early.id)).summary).toBeUndefined();
      const late = await workflows.fork(id, { at: -2 });
      expect((await workflows.context(late.id)).summary).toBe('five: 1,2,3,4,5');
      const shell = await workflows.compact(id, { command: 'grep -c "^## "' });
      expect(shell.role).toBe('__compact__');
      expect((await workflows.context(id)).summary).toBe('2\n');
    });

    it('goes with rm, from the index and from the history, and blobs go with a collection', async () => {
      const { engine, store } = await openWorkflows(target);
      const { workflows } = store;
      const kept = await chain(workflows, 2);
      const active = await chain(workflows, 1);
      const ended = await chain(workflows, 1);
      await workflows.end(kept.id);
      await workflows.end(ended.id);
      await workflows.remove(active.id);
      await workflows.remove(ended.id);
      expect(await workflows.get(active.id)).toBeUndefined();
      await failure(workflows.remove(ended.id), 'NOT_FOUND');
      const { items } = await workflows.list({ state: 'all' });
      expect(items.map(({ id }) => id)).toEqual([kept.id]);
      await store.maintain.gc({ graceMs: 0, all: true });
      const thread = (await workflows.get(kept.id))!;
      const reachable = await workflows.findReachableHashes([thread.head, thread.start]);
      expect(await blobHashes(engine)).toEqual(reachable);
    });
  });

  describe('artifacts and summaries', () => {
    it('stay as long as a thread leads to them, and must exist', async () => {
      const { engine, store } = await openWorkflows(target);
      const { workflows } = store;
      const artifact = await store.blobs.put(encodeUtf8('an artifact'));
      const { id } = await workflows.start({ name: 'a', bundle: BUNDLE, prompt: 'p' });
      await workflows.step(id, {
        role: 'r',
        content: 'c',
        refs: [artifact.hash],
        compact: 'summary',
      });
      await store.maintain.gc({ graceMs: 0, all: true });
      expect(await engine.hasBlob(artifact.hash)).toBe(true);
      expect((await workflows.context(id)).summary).toBe('summary');
      const missing = 'd'.repeat(64);
      const error = await failure(
        workflows.step(id, { role: 'r', content: '', refs: [missing] }),
        'NOT_FOUND',
      );
      expect(error.message).toContain(missing);
      await workflows.remove(id);
      await store.maintain.gc({ graceMs: 0, all: true });
      expect(await countBlobs(engine)).toBe(0);
    });
  });

  describe('lists', () => {
    it('page through those under way and then the finished ones', async () => {
      const { workflows } = (await openWorkflows(target)).store;
      const ids: string[] = [];
      for (let n = 0; n < 7; n += 1) ids.push((await chain(workflows, 1)).id);
      for (const id of ids.slice(0, 4)) await workflows.end(id);
      const seen: string[] = [];
      const query = { state: 'all', limit: 2 } as const;
      for await (const { items } of eachPage((after) => workflows.list({ ...query, ...after }))) {
        expect(items.length).toBeLessThanOrEqual(2);
        seen.push(...items.map(({ id }) => id));
      }
      expect(seen).toEqual([...ids.slice(4).toReversed(), ...ids.slice(0, 4).toReversed()]);
      await workflows.pause(ids[5]!);
      expect((await workflows.list()).items.map(({ state }) => state)).toContain('paused');
      await failure(workflows.list({ cursor: 'x' }), 'INVALID');
    });
  });

  describe('watching', () => {
    it('follows a thread live, also from the middle, to its end', async () => {
      const { workflows } = (await openWorkflows(target)).store;
      const { id, hashes } = await chain(workflows, 40);
      const seen: string[] = [];
      const reading = (async () => {
        for await (const step of workflows.live(id, { after: hashes[36]! }))
          seen.push(step.content ?? '');
      })();
      await workflows.step(id, { role: 'coder', content: '41' });
      await workflows.end(id, { summary: 'over' });
      await reading;
      expect(seen).toEqual(['38', '39', '40', '41', 'over']);
      const again: string[] = [];
      for await (const step of workflows.live(id)) again.push(step.content ?? '');
      expect(again).toHaveLength(42);
      const stray = workflows.live(id, { after: 'e'.repeat(64) })[Symbol.asyncIterator]();
      await failure(stray.next(), 'NOT_FOUND');
    });

    it('sees every change of threads.json', async () => {
      const { workflows } = (await openWorkflows(target)).store;
      const watching = workflows.watchIndex(BUNDLE)[Symbol.asyncIterator]();
      expect((await watching.next()).value).toEqual({ version: 0, threads: {} });
      const { id, hashes } = await chain(workflows, 2);
      await workflows.end(id);
      const heads: (Hash | undefined)[] = [];
      for (let n = 0; n < 4; n += 1) {
        const { value } = (await watching.next()) as IteratorYieldResult<IndexChange>;
        heads.push(value.threads[toThreadId(id)]?.head);
      }
      const { start } = (await workflows.get(id))!;
      expect(heads).toEqual([start, ...hashes, undefined]);
      await watching.return?.();
    });
  });
}
