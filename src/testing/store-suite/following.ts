import { describe, expect, it } from 'vitest';
import type { Change } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Store } from '../../store/store.ts';
import type { IndexChange } from '../../workflow/threads/workflows.ts';
import { collect, iterate, payloadsOf, take } from '../contexts-suite/fixture.ts';
import { BUNDLE } from '../workflow-suite/fixture.ts';
import { PATIENCE } from '../patience.ts';
import { openBeside, openRig } from './fixture.ts';
import type { StoreTarget } from './store-target.ts';

/** Counts reads of single records and of many: each is a round trip to a remote store. */
function countReads(engine: Engine): { readonly count: number } {
  const reads = { count: 0 };
  for (const name of ['tips', 'getTurn', 'getContext', 'getMany'] as const) {
    const read = engine[name].bind(engine) as (...args: unknown[]) => Promise<never>;
    engine[name] = (...args: unknown[]) => {
      reads.count += 1;
      return read(...args);
    };
  }
  return reads;
}

/** Holds back what an engine tells its subscribers, until a test lets one change through. */
function holdChanges(engine: Engine): {
  letOne(wanted: (change: Change) => boolean): Promise<void>;
} {
  const held: (() => void)[] = [];
  const changes: Change[] = [];
  const subscribe = engine.subscribe.bind(engine);
  engine.subscribe = (listener, missed) =>
    subscribe((change) => {
      changes.push(change);
      held.push(() => listener(change));
    }, missed);
  return {
    async letOne(wanted) {
      await expect.poll(() => changes.findIndex(wanted), PATIENCE).toBeGreaterThan(-1);
      held[changes.findIndex(wanted)]?.();
    },
  };
}

/** One user works and another follows. Where there can be two, the follower opened the store for itself. */
export function followingSuite(target: StoreTarget): void {
  async function openTwo(): Promise<{ here: Store; there: Store }> {
    const rig = await openRig(target);
    return { here: rig.store, there: (await openBeside(rig)).store };
  }

  describe(`following on ${target.name}`, () => {
    it('shows the turns of a context, whoever appends them', async () => {
      const { here, there } = await openTwo();
      const { id } = await here.contexts.create();
      const turns = iterate((signal) => there.contexts.follow(id, { signal }));
      const next = take(turns, 20);
      for (let n = 0; n < 20; n += 1) {
        const writer = n % 4 === 3 ? there : here;
        await writer.contexts.append(id, { type: 'note', payload: n });
      }
      expect(payloadsOf(await next)).toEqual(Array.from({ length: 20 }, (_, n) => n));
    });

    it('lets a reader leave that waits for what never comes', async () => {
      const { here } = await openTwo();
      const { id } = await here.contexts.create();
      await here.contexts.append(id, { type: 'note', payload: 1 });
      const open = await here.contexts.open(id, { type: 'note' });
      await open.write('a');
      await open.flush();
      await here.chats.create({ id: 'c1' });
      const chat = await here.chats.open('c1');
      await chat.add({ role: 'user', content: 'hi' });
      const thread = await here.workflows.start({ name: 'a', prompt: 'p', bundle: BUNDLE });
      await here.workflows.step(thread.id, { role: 'r', content: 'c' });
      const all: AsyncIterable<unknown>[] = [
        here.contexts.follow(id),
        here.contexts.followOpen(open.id),
        here.watch(),
        chat.follow(),
        here.workflows.live(thread.id),
        here.workflows.watchIndex(BUNDLE),
      ];
      for (const items of all) {
        const reader = items[Symbol.asyncIterator]();
        await reader.next();
        // Some have more to give, and none has two hundred items.
        const left = Array.from({ length: 200 }, () => reader.next());
        await reader.return?.();
        expect(await left.at(-1)).toMatchObject({ done: true });
      }
      await open.seal();
    });

    it('shows the text of a turn as it is streamed', async () => {
      const { here, there } = await openTwo();
      const { id } = await here.contexts.create();
      const open = await here.contexts.open(id, { type: 'note' });
      const pieces = iterate((signal) => there.contexts.followOpen(open.id, { signal }));
      for (const text of ['a', 'b', 'c']) {
        const next = take(pieces, 1);
        await open.write(text);
        expect(Buffer.concat(await next).toString()).toBe(text);
      }
      await open.seal();
      expect(await pieces.next()).toMatchObject({ done: true });
    });

    it('tells of what happens in the store', async () => {
      const { here, there } = await openTwo();
      const events = iterate((signal) => there.watch({}, { signal }));
      expect((await take(events, 1))[0]).toMatchObject({ kind: 'started' });
      const { id } = await here.contexts.create();
      expect((await take(events, 1))[0]).toMatchObject({
        kind: 'context.created',
        context: { id },
      });
      const turn = await here.contexts.append(id, { type: 'note', payload: 1 });
      const told = await take(events, 1);
      expect(told[0]).toMatchObject({ kind: 'turn.appended', turn: { id: turn.id } });
      await here.contexts.patch(turn.id, 2);
      const [last] = await take(events, 1);
      expect(last).toMatchObject({ kind: 'patch.added', patch: { turn: turn.id } });
      // A follower that was away goes on behind the last turn it saw, wherever it comes back.
      await here.contexts.append(id, { type: 'note', payload: 3 });
      const again = iterate((signal) => here.watch({}, { after: last!.id, signal }));
      const kinds = (await take(again, 2)).map(({ kind }) => kind);
      expect(kinds).toEqual(['resumed', 'turn.appended']);
    });

    it('tells what eight writers do at once, each turn once and in order, in few reads', async () => {
      const rig = await openRig(target);
      const beside = await openBeside(rig);
      const writers = await Promise.all(
        Array.from({ length: 8 }, () => rig.store.contexts.create()),
      );
      const events = iterate((signal) =>
        beside.store.watch({ kinds: ['turn.appended'] }, { signal }),
      );
      await take(events, 1);
      const reads = countReads(beside.engine);
      // The reader is busy with something else for a while, as any reader now and then.
      const written = writers.map(async ({ id }) => {
        for (let n = 0; n < 40; n += 1)
          await rig.store.contexts.append(id, { type: 'note', payload: n });
      });
      await Promise.all(written);
      const told = await take(events, 320);
      expect(told.map((event) => 'turn' in event && event.turn.id)).toEqual(
        Array.from({ length: 320 }, (_, at) => BigInt(at + 1)),
      );
      expect(reads.count).toBeLessThan(32);
    });

    it('shows the events of a chat, until it is removed', async () => {
      const { here, there } = await openTwo();
      await here.chats.create({ id: 'c1' });
      const chat = await here.chats.open('c1');
      const other = await there.chats.open('c1');
      const following = iterate((signal) => other.follow({ signal }));
      const all = take(following, 3);
      const stream = await chat.stream({ role: 'assistant', id: 's' });
      await stream.write('half');
      await stream.flush();
      await stream.complete('whole');
      await other.add({ role: 'user', content: 'thanks' });
      while ((await chat.status()).events < 3) await new Promise(setImmediate);
      const seen = iterate((signal) => other.follow({ after: 2, signal }));
      expect((await take(seen, 1))[0]).toMatchObject({ seq: 3, type: 'message_added' });
      // Events that nobody has read yet go with the chat.
      expect((await all).map(({ seq }) => seq)).toEqual([1, 2, 3]);
      await here.chats.remove('c1');
      expect(await following.next()).toMatchObject({ done: true });
    });

    it('ends with a chat whose removal is seen before it is heard of', async () => {
      const rig = await openRig(target);
      const beside = await openBeside(rig);
      const heard = holdChanges(beside.engine);
      await rig.store.chats.create({ id: 'c1' });
      const chat = await rig.store.chats.open('c1');
      await chat.add({ role: 'user', content: 'a' });
      const other = await beside.store.chats.open('c1');
      const following = iterate((signal) => other.follow({ signal }));
      expect(await take(following, 1)).toMatchObject([{ seq: 1 }]);
      const next = following.next();
      await chat.add({ role: 'user', content: 'b' });
      await rig.store.chats.remove('c1');
      // The follower hears of the second event, looks, and finds no chat.
      await heard.letOne(({ logs }) => logs.length > 0);
      expect(await next).toMatchObject({ done: true });
    });

    it('shows the steps of a workflow thread, and its index', async () => {
      const { here, there } = await openTwo();
      const index = there.workflows.watchIndex(BUNDLE)[Symbol.asyncIterator]();
      expect(await index.next()).toMatchObject({ value: { version: 0 } });
      const { id } = await here.workflows.start({ name: 'x', bundle: BUNDLE, prompt: 'p' });
      const steps = collect(there.workflows.live(id));
      await here.workflows.step(id, { role: 'r', content: '1' });
      await there.workflows.step(id, { role: 'r', content: '2' });
      await here.workflows.end(id, { summary: 'over' });
      expect((await steps).map(({ content }) => content)).toEqual(['1', '2', 'over']);
      let left = 1;
      while (left > 0) {
        const { value } = (await index.next()) as IteratorYieldResult<IndexChange>;
        left = Object.keys(value.threads).length;
      }
      await index.return?.();
    });
  });
}
