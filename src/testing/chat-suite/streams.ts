import { describe, expect, vi } from 'vitest';
import { failure } from '../engine-suite/fixture.ts';
import { createStore } from '../../store/create-store.ts';
import { eventsOf, newChat, reopen } from './fixture.ts';
import { PATIENCE } from '../patience.ts';
import { openRig, rigCases } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';

export function streamsSuite(target: StoreTarget): void {
  const it = rigCases(target);
  describe('appending', () => {
    it('numbers events without a gap, however many append at once', async ({ rig }) => {
      const first = await newChat(rig);
      const others = await Promise.all([1, 2, 3].map(() => reopen(rig, 'c1')));
      const writers = [first, ...others];
      await Promise.all(
        writers.flatMap((chat, who) =>
          Array.from({ length: 15 }, (_, n) =>
            n % 3 === 0
              ? chat.add({ role: `r${who}`, content: `${n}` })
              : chat.append({ type: 'note', payload: { who, n } }),
          ),
        ),
      );
      const { events, problems } = await (await reopen(rig, 'c1')).events();
      expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 60 }, (_, at) => at + 1));
      expect(new Set(events.map(({ event_id: id }) => id)).size).toBe(60);
      expect(new Set(problems.map(({ kind }) => kind))).toEqual(new Set(['unknown-type']));
      const lines = await rig.engine.readLog(eventsOf('c1'), 0, 100);
      expect(lines.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual(
        Array.from({ length: 60 }, (_, at) => at + 1),
      );
    });

    it('would leave gaps without the condition on the length', async ({ rig }) => {
      const commit = rig.engine.commit.bind(rig.engine);
      let waiting: (() => void)[] | undefined;
      rig.engine.commit = async (batch) => {
        // Both writers have decided before either change is carried out.
        await new Promise<void>((resolve) => {
          if (waiting === undefined) return resolve();
          waiting.push(resolve);
          if (waiting.length === 2) for (const goOn of waiting) goOn();
        });
        return commit({
          ...batch,
          logs: (batch.logs ?? []).map((log) => {
            if (log.do !== 'append') return log;
            const { expectedLines: _, ...loose } = log;
            return loose;
          }),
        });
      };
      await rig.store.chats.create({ id: 'c1' });
      const loose = createStore(rig.engine);
      const [one, two] = [await rig.store.chats.open('c1'), await loose.chats.open('c1')];
      const event = { type: 'note', payload: {} };
      // The very first change has a condition on the document, too.
      await one.append(event);
      await two.status();
      waiting = [];
      await Promise.all([one.append(event), two.append(event)]);
      const { problems } = await (await reopen(rig, 'c1')).events();
      expect(problems.length > 0).toBe(true);
      const lines = await rig.engine.readLog(eventsOf('c1'), 0, 10);
      expect(lines.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual([1, 2, 2]);
    });

    it('does not repeat an append whose answer was lost', async () => {
      const { engine, store } = await openRig(target);
      await store.chats.create({ id: 'c1' });
      const chat = await store.chats.open('c1');
      const commit = engine.commit.bind(engine);
      let isLost = true;
      engine.commit = async (batch) => {
        const done = await commit(batch);
        if (batch.logs === undefined || !isLost) return done;
        isLost = false;
        // An engine that sends a batch again after a broken connection does the same.
        return commit(batch);
      };
      await chat.append({ type: 'note', payload: {} });
      expect(await chat.status()).toMatchObject({ events: 1 });
    });

    it('takes a condition on the last event', async () => {
      const chat = await newChat(await openRig(target));
      await chat.add({ role: 'user', content: 'a' }, { expectedSeq: 0 });
      await failure(chat.add({ role: 'user', content: 'b' }, { expectedSeq: 0 }), 'HEAD_MOVED');
      await chat.append({ type: 'note', payload: {} }, { expectedSeq: 1 });
      expect(await chat.status()).toMatchObject({ events: 2 });
    });

    it('waits together in one commit', async ({ rig }) => {
      const chat = await newChat(rig);
      await chat.append({ type: 'note', payload: {} });
      let commits = 0;
      rig.engine.subscribe(({ logs }) => {
        commits += logs.length;
      });
      await Promise.all(
        Array.from({ length: 200 }, () => chat.append({ type: 'note', payload: {} })),
      );
      expect(commits).toBeLessThan(5);
      expect(await chat.status()).toMatchObject({ events: 201 });
    });
  });

  describe('a streamed message', () => {
    it('of 10,000 deltas costs at most a commit each 20 ms', async ({ rig }) => {
      const chat = await newChat(rig);
      let commits = 0;
      rig.engine.subscribe(({ logs }) => {
        commits += logs.filter(({ name }) => name === eventsOf('c1')).length;
      });
      const started = performance.now();
      const stream = await chat.stream({ role: 'assistant' });
      let expected = '';
      for (let n = 0; n < 10_000; n += 1) {
        const delta = n % 2 === 0 ? '\ud83e' : '\udea2';
        expected += delta;
        void stream.write(delta);
        if (n % 500 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
        // What gathers behind the first commit goes without being asked for.
        if (n === 5000) await vi.waitFor(() => expect(commits).toBeGreaterThan(1), PATIENCE);
      }
      await stream.complete();
      const took = performance.now() - started;
      // The first delta goes at once, and a change of its own completes the message.
      expect(commits).toBeLessThanOrEqual(took / 20 + 3);
      await vi.waitFor(() => expect(commits).toBeGreaterThan(3), PATIENCE);
      expect(await chat.message(stream.id)).toMatchObject({ content: expected, state: 'complete' });
      expect(await (await reopen(rig, 'c1')).message(stream.id)).toMatchObject({
        content: expected,
      });
    });

    it('is there as far as it came when its writer is gone', async ({ rig }) => {
      const chat = await newChat(rig);
      const stream = await chat.stream({ role: 'assistant', id: 's' });
      await stream.write('half of ');
      await stream.write('it');
      await stream.flush();
      const again = await reopen(rig, 'c1');
      expect(await again.message('s')).toMatchObject({ content: 'half of it', state: 'streaming' });
      await stream.complete('the whole', { usage: { outputTokens: 4 } });
      expect(await again.message('s')).toMatchObject({ content: 'the whole', state: 'complete' });
      await failure(stream.write('more'), 'CLOSED');
    });

    it('is resumed by another writer, or completed for the one that is gone', async ({ rig }) => {
      const chat = await newChat(rig);
      const gone = await chat.stream({ role: 'assistant', id: 's' });
      await gone.write('half of ');
      await gone.flush();
      const other = await reopen(rig, 'c1');
      const resumed = await other.resume('s');
      expect(resumed.text).toBe('half of ');
      await resumed.write('it');
      await resumed.flush();
      await gone.write('lost its place');
      await failure(gone.flush(), 'HEAD_MOVED');
      await failure(gone.complete(), 'HEAD_MOVED');
      await resumed.complete();
      expect(await other.message('s')).toMatchObject({ content: 'half of it', state: 'complete' });
      await failure(other.resume('s'), 'INVALID');
      await failure(other.complete('s'), 'INVALID');
      await failure(other.resume('none'), 'NOT_FOUND');

      const late = await chat.stream({ role: 'assistant', id: 't', branch: 'main' });
      await late.write('cut sh');
      await late.flush();
      await other.complete('t', undefined, { interrupted: true });
      const cut = { content: 'cut sh', state: 'complete', interrupted: true, role: 'assistant' };
      expect(await (await reopen(rig, 'c1')).message('t')).toMatchObject(cut);
      await late.write('ort');
      await failure(late.flush(), 'CLOSED');
      expect(await other.status()).toMatchObject({ problems: 0 });
    });

    it('does not hold up a writer that awaits each piece', async () => {
      const chat = await newChat(await openRig(target));
      const stream = await chat.stream({ role: 'assistant' });
      const began = performance.now();
      for (let n = 0; n < 1000; n += 1) await stream.write('token ');
      await stream.flush();
      // One commit for each piece, 20 ms apart, would take 20 s.
      expect(performance.now() - began).toBeLessThan(8000);
      expect((await chat.message(stream.id))?.content).toBe('token '.repeat(1000));
      await stream.complete();
    });

    it('refuses half a character at its end', async () => {
      const chat = await newChat(await openRig(target));
      const stream = await chat.stream({ role: 'assistant' });
      await stream.write('a\ud83e');
      await failure(stream.complete(), 'INVALID');
      await failure(stream.write('x'), 'INVALID');
      await stream.write('\udea2');
      await stream.complete();
      expect(await chat.message(stream.id)).toMatchObject({ content: 'a\ud83e\udea2' });
    });
  });
}
