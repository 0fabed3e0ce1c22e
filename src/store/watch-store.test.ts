import { describe, expect, it, onTestFinished } from 'vitest';
import { toContextId, type ContextId, type TurnId } from '../base/brand.ts';
import { failure } from '../testing/engine-suite/fixture.ts';
import { ModelEngine } from '../testing/model-engine.ts';
import type { ModelState } from '../testing/model/model-state.ts';
import { createStore } from './create-store.ts';
import type { Store } from './store.ts';
import type { StoreEvent, WatchFilter, WatchOptions } from './watch-event.ts';

function openModel(state?: ModelState): {
  engine: ModelEngine;
  store: Store;
  asked: string[];
} {
  const engine = new ModelEngine(state === undefined ? {} : { state });
  const asked: string[] = [];
  const store = createStore(notingReads(engine, asked));
  onTestFinished(() => store.close());
  return { engine, store, asked };
}

/** Each read is a round trip where the engine is far away. */
function notingReads(engine: ModelEngine, asked: string[]): ModelEngine {
  return new Proxy(engine, {
    get(target, name: keyof ModelEngine) {
      const member: unknown = target[name];
      if (typeof member !== 'function') return member;
      return (...args: unknown[]): unknown => {
        if (!['commit', 'subscribe', 'close'].includes(name)) asked.push(name);
        return (member as (...given: unknown[]) => unknown).apply(target, args);
      };
    },
  });
}

/** An event in few words. */
function brief(event: StoreEvent): string {
  switch (event.kind) {
    case 'context.created':
    case 'context.updated':
      return `${event.kind} ${event.context.id}`;
    case 'context.removed':
      return `${event.kind} ${event.contextId}`;
    case 'turn.appended':
    case 'turn.opened':
    case 'turn.sealed':
      return `${event.kind} ${event.turn.id}`;
    case 'patch.added':
      return `${event.kind} ${event.patch.seq}`;
    case 'unreadable':
      return `${event.kind} ${event.what} ${event.number}`;
    case 'behind':
      return `${event.kind} ${event.events}`;
    case 'started':
    case 'resumed':
      return event.kind;
  }
}

/** A watch that is pulled by hand. */
class Reader {
  readonly #events: AsyncIterator<StoreEvent>;
  last = '';

  constructor(store: Store, filter?: WatchFilter, options?: WatchOptions) {
    this.#events = store.watch(filter, options)[Symbol.asyncIterator]();
  }

  async take(count: number): Promise<string[]> {
    const seen: string[] = [];
    while (seen.length < count) {
      const next = await this.#events.next();
      if (next.done === true) return [...seen, 'end'];
      this.last = next.value.id;
      seen.push(brief(next.value));
    }
    return seen;
  }

  async stop(): Promise<void> {
    await this.#events.return?.();
  }
}

const note = { type: 'note', payload: 'x' };

describe('watching a store', () => {
  it('tells of contexts, turns and patches as they come', async () => {
    const { store } = openModel();
    const reader = new Reader(store);
    expect(await reader.take(1)).toEqual(['started']);
    const { id } = await store.contexts.create();
    const turn = await store.contexts.append(id, note);
    expect(await reader.take(2)).toEqual(['context.created 1', 'turn.appended 1']);
    const open = await store.contexts.open(id, { type: 'note' });
    expect(await reader.take(1)).toEqual(['turn.opened 2']);
    await open.seal();
    expect(await reader.take(1)).toEqual(['turn.sealed 2']);
    await store.contexts.patch(turn.id, 'y');
    await store.contexts.update(id, { title: 'named' });
    expect(await reader.take(2)).toEqual(['patch.added 1', 'context.updated 1']);
    await store.contexts.remove(id);
    expect(await reader.take(1)).toEqual(['context.removed 1']);
    await store.close();
    expect(await reader.take(1)).toEqual(['end']);
  });

  it('does not tell a context again whose creation is heard of later than it is read', async () => {
    const { engine, store } = openModel();
    const heard: (() => void)[] = [];
    const subscribe = engine.subscribe.bind(engine);
    engine.subscribe = (listener) => subscribe((change) => void heard.push(() => listener(change)));
    const reader = new Reader(store);
    await reader.take(1);
    const { id } = await store.contexts.create();
    expect(await reader.take(1)).toEqual(['context.created 1']);
    const next = reader.take(3);
    for (const hear of heard.splice(0)) hear();
    await store.contexts.append(id, note);
    for (const title of ['named', 'renamed']) {
      for (const hear of heard.splice(0)) hear();
      await new Promise((resolve) => setTimeout(resolve, 5));
      await store.contexts.update(id, { title });
    }
    for (const hear of heard.splice(0)) hear();
    expect(await next).toEqual(['turn.appended 1', 'context.updated 1', 'context.updated 1']);
  });

  it('goes on after any event with no gap and no repetition, in a store opened again', async () => {
    const { engine, store } = openModel();
    const reader = new Reader(store);
    await reader.take(1);
    const ids = [reader.last];
    const a = await store.contexts.create();
    const open = await store.contexts.open(a.id, { type: 'note' });
    await store.contexts.fork(
      (await store.contexts.append((await store.contexts.create()).id, note)).id,
    );
    const expected = ['context.created 1', 'context.created 2', 'context.created 3'];
    expected.push('turn.opened 1', 'turn.appended 2');
    for (const event of expected) {
      expect(await reader.take(1)).toEqual([event]);
      ids.push(reader.last);
    }
    await store.contexts.tombstone(2n as TurnId, 'gone');
    await store.close();

    const again = openModel(engine.state).store;
    expect(await again.contexts.turn(open.id)).toMatchObject({ outcome: 'interrupted' });
    for (const [at, after] of ids.entries()) {
      const resumed = new Reader(again, {}, { after });
      const opened = expected.slice(at).includes('turn.opened 1');
      const rest = expected.slice(at).map((event) => event.replace('opened', 'appended'));
      const sealed = opened ? [] : ['turn.sealed 1'];
      const contexts = rest.filter((event) => event.startsWith('context'));
      const turns = rest.filter((event) => event.startsWith('turn'));
      const whole = ['resumed', ...contexts, ...sealed, ...turns, 'patch.added 1'];
      expect(await resumed.take(whole.length), after).toEqual(whole);
      const later = new Reader(again, {}, { after: resumed.last });
      expect(await later.take(1)).toEqual(['resumed']);
      await Promise.all([resumed.stop(), later.stop()]);
    }
  });

  it('tells a slow reader everything once', async () => {
    const { store } = openModel();
    const { id } = await store.contexts.create();
    const reader = new Reader(store);
    await reader.take(1);
    for (let n = 0; n < 50; n += 1) await store.contexts.append(id, note);
    const all = Array.from({ length: 50 }, (_, at) => `turn.appended ${at + 1}`);
    expect(await reader.take(50)).toEqual(all);
    await reader.stop();
  });

  it('reads in pages: few round trips, whatever happened meanwhile', async () => {
    const { store, asked } = openModel();
    const reader = new Reader(store);
    await reader.take(1);
    const before = asked.length;
    const expected: string[] = [];
    for (let n = 1; n <= 30; n += 1) {
      const { id } = await store.contexts.create();
      await store.contexts.appendBatch(
        id,
        Array.from({ length: 20 }, () => note),
      );
      expected.push(`context.created ${n}`);
    }
    for (let n = 1; n <= 600; n += 1) expected.push(`turn.appended ${n}`);
    for (let n = 1; n <= 40; n += 1) {
      await store.contexts.patch(BigInt(n) as TurnId, 'y');
      expected.push(`patch.added ${n}`);
    }
    asked.length = before;
    expect(await reader.take(expected.length)).toEqual(expected);
    expect(asked.length - before, String(asked)).toBeLessThan(10);

    for (let n = 1; n <= 30; n += 1) {
      await store.contexts.update(BigInt(n) as ContextId, { title: 'named' });
    }
    asked.length = before;
    const updated = Array.from({ length: 30 }, (_, at) => `context.updated ${at + 1}`);
    expect(await reader.take(30)).toEqual(updated);
    expect(asked.length - before, String(asked)).toBeLessThan(10);
    await reader.stop();
  });

  it('reads nothing of what was not asked for', async () => {
    const { store, asked } = openModel();
    const reader = new Reader(store, { kinds: ['context.removed'] });
    await reader.take(1);
    const before = asked.length;
    for (let n = 1; n <= 20; n += 1) {
      const { id } = await store.contexts.create();
      await store.contexts.append(id, note);
      await store.contexts.update(id, { title: 'named' });
    }
    const last = await store.contexts.create();
    await store.contexts.remove(last.id);
    asked.length = before;
    expect(await reader.take(1)).toEqual(['context.removed 21']);
    const reads = asked.slice(before).filter((name) => name !== 'tips');
    expect(reads).toEqual([]);
    await reader.stop();
  });

  it('says how far behind a reader is that does not keep up, and still tells all of it', async () => {
    const { store } = openModel();
    const { id } = await store.contexts.create();
    const reader = new Reader(store);
    await reader.take(1);
    const notes = Array.from({ length: 2500 }, () => note);
    await store.contexts.appendBatch(id, notes);
    const seen = await reader.take(1);
    // More comes while it is still busy with the first.
    await store.contexts.appendBatch(id, notes);
    for (;;) {
      seen.push(...(await reader.take(1)));
      if (seen.at(-1) === 'turn.appended 5000') break;
    }
    const told = seen.filter((event) => !event.startsWith('behind'));
    expect(told).toEqual(Array.from({ length: 5000 }, (_, at) => `turn.appended ${at + 1}`));
    const behind = seen.filter((event) => event.startsWith('behind'));
    expect(behind.slice(0, 2)).toEqual(['behind 2500', 'behind 4000']);
    expect(behind.at(-1)).toBe('behind 1500');
    await reader.stop();
  });

  it('tells only what was asked for', async () => {
    const { store } = openModel();
    const one = await store.contexts.create();
    const two = await store.contexts.create();
    const about = new Reader(store, { context: two.id });
    const kinds = new Reader(store, { kinds: ['patch.added'] });
    await Promise.all([about.take(1), kinds.take(1)]);
    const first = await store.contexts.append(one.id, note);
    await store.contexts.patch(first.id, 'y');
    const second = await store.contexts.append(two.id, note);
    await store.contexts.patch(second.id, 'y');
    expect(await about.take(2)).toEqual(['turn.appended 2', 'patch.added 2']);
    expect(await kinds.take(2)).toEqual(['patch.added 1', 'patch.added 2']);
    await Promise.all([about.stop(), kinds.stop()]);
  });

  it('ends with its signal and refuses what makes no sense', async () => {
    const { store } = openModel();
    const aborter = new AbortController();
    const reader = new Reader(store, {}, { signal: aborter.signal });
    await reader.take(1);
    const waiting = reader.take(1);
    aborter.abort();
    expect(await waiting).toEqual(['end']);
    await failure(new Reader(store, {}, { after: '1.9.0.0.' }).take(1), 'INVALID');
    expect(() => store.watch({ context: toContextId(1) }, { after: 5 as never })).toThrow(/^after/);
    expect(() => store.watch({ kinds: 'turn' as never })).toThrow(/^kinds/);
  });

  it('goes on behind a record that is damaged', async () => {
    const { engine, store } = openModel();
    const { id } = await store.contexts.create();
    const reader = new Reader(store);
    await reader.take(1);
    const read = engine.getTurn.bind(engine);
    engine.getTurn = async (turn) => {
      if (turn !== 2n) return read(turn);
      const { QuipuError } = await import('../base/errors.ts');
      throw new QuipuError('CORRUPT', 'damaged', { file: 'turns', offset: 0 });
    };
    await store.contexts.appendBatch(id, [note, note, note]);
    const events = ['turn.appended 1', 'unreadable turn 2', 'turn.appended 3'];
    expect(await reader.take(3)).toEqual(events);
    await reader.stop();
  });
});
