import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { NO_TURN } from '../../src/base/brand.ts';
import { hashBytes } from '../../src/base/hash.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { openSample } from '../health/sample-store.ts';
import { Dice } from './forge.ts';
import { attempt } from './forged-store.ts';

// Invariant: whatever a document, a line of a log or a payload says in right JSON, every verb of chats, workflows and
// contexts answers or gives an error of its own.
// Method: a store with each kind of document and line. One value in one of them becomes another. Then everything is
// read, checked, written to, collected and removed. fast-check prints the seed and the rolls.

const CLOCK = 1_700_000_100_000;
const BUNDLE = hashBytes(Buffer.from('a bundle'));
/** In place of any value, as JSON. */
const ODD: readonly string[] = [
  'null true 0 -1 1.5 1e308 9007199254740993 "" "x" "../../x" "\\u0000" "9999-99-99" "constructor"',
  '[] [null] [[[]]] {} {"a":{}} {"length":-1} {"__proto__":{"a":1}} {"toString":1}',
  JSON.stringify('y'.repeat(5000)),
  JSON.stringify(hashBytes(Buffer.from('nowhere'))),
].flatMap((texts) => texts.split(' '));

let disk: MemoryIo;
/** Documents, and lines of logs by their number. */
let places: readonly { readonly name: string; readonly line?: number; readonly text: string }[];

beforeAll(async () => {
  disk = new MemoryIo();
  const { engine } = await openSample(disk);
  const store = storeOver(engine);
  await fillChat(store);
  await fillWorkflow(store);
  const docs = await engine.listDocs('', 1000);
  const logs = await engine.listLogs('', 1000);
  const found: { name: string; line?: number; text: string }[] = [];
  for (const name of docs) found.push({ name, text: (await engine.getDoc(name))?.content ?? '' });
  for (const name of logs) {
    for (const [line, text] of (await engine.readLog(name, 0, 1000)).entries())
      found.push({ name, line, text });
  }
  places = found;
  await store.close();
});

function storeOver(engine: Engine): Store {
  let now = CLOCK;
  return createStore(engine, { clock: () => (now += 1000) });
}

async function fillChat(store: Store): Promise<void> {
  await store.chats.registerType('note', { about: 'a note' });
  for (const id of ['c1', 'kept']) await store.chats.create({ id, title: 'talk' });
  const chat = await store.chats.open('c1');
  await chat.add({ role: 'user', content: 'long '.repeat(10_000), id: 'm1' });
  const stream = await chat.stream({ role: 'assistant', id: 'm2' });
  await stream.write('hel');
  await stream.write('lo');
  await stream.complete();
  const call = await chat.callTool({ name: 'ls', arguments: { all: true }, message: 'm2' });
  await chat.returnTool(call, { result: ['a', 'b'], message: 'm2' });
  await chat.attach(Buffer.from('bytes'), { name: 'a.png', message: 'm1' });
  const branch = await chat.fork('m2', { before: true });
  await chat.add({ role: 'assistant', content: 'another', id: 'm3', branch });
  await chat.edit('m3', 'yet another');
  const batch = await chat.ask([{ id: 'q1', kind: 'text', text: 'why?' }], { id: 'b1' });
  await chat.answer(batch, [{ question_id: 'q1', value: 'because' }]);
  await chat.append({ type: 'note', payload: { a: 1 } });
  await chat.add({ role: 'user', content: 'secret', id: 'm4' });
  await chat.redact('m4', { reason: 'asked for' });
  const kept = await store.chats.open('kept');
  await kept.add({ role: 'user', content: 'old', id: 'o1' });
  await kept.archive();
}

async function fillWorkflow(store: Store): Promise<void> {
  const start = { name: 'fix', prompt: 'do it', bundle: BUNDLE };
  const { id } = await store.workflows.start(start);
  await store.workflows.step(id, { role: 'coder', content: 'one', meta: { n: 1 } });
  await store.workflows.step(id, { role: 'tester', content: 'two', compact: 'so far' });
  const fork = await store.workflows.fork(id, { at: 0 });
  await store.workflows.end(id, { summary: 'done' });
  await store.workflows.pause(fork.id);
}

/** Writes one value of one text anew, in the JSON of the rolls. */
function forge(text: string, dice: Dice): string {
  const value: unknown = JSON.parse(text);
  const spots: [object, string][] = [];
  const walk = (one: unknown): void => {
    if (typeof one !== 'object' || one === null) return;
    for (const key of Object.keys(one)) {
      spots.push([one, key]);
      walk((one as Record<string, unknown>)[key]);
    }
  };
  walk(value);
  const odd = dice.pick(ODD);
  if (spots.length === 0 || dice.below(12) === 0) return odd;
  const [holder, key] = dice.pick(spots);
  if (dice.below(6) === 0) Reflect.deleteProperty(holder, key);
  else Reflect.set(holder, key, '@');
  return JSON.stringify(value).replace('"@"', () => odd);
}

async function plant(engine: Engine, dice: Dice): Promise<string> {
  const { name, line, text } = dice.pick(places);
  const forged = forge(text, dice);
  if (line === undefined) {
    await engine.commit({ docs: [{ name, content: forged }] });
  } else {
    const lines = [...(await engine.readLog(name, 0, 1000))];
    lines[line] = forged;
    await engine.commit({ logs: [{ do: 'remove', name }] });
    await engine.commit({ logs: [{ do: 'append', name, lines }] });
  }
  return `${name} ${line ?? ''}: ${forged.slice(0, 300)}`;
}

async function useAll(store: Store): Promise<void> {
  for (const id of ['c1', 'kept']) await useChat(store, id);
  await attempt('chats', () => store.chats.list());
  await attempt('types', () => store.chats.types());
  await useWorkflows(store);
  await attempt('stats', () => store.maintain.stats());
  await attempt('verify', () => store.maintain.verify());
  await attempt('retain', () => store.chats.retain({ maxAgeMs: 0 }));
  await attempt('repair', () => store.maintain.verify({ repair: true }));
  await attempt('collect', () => store.maintain.gc({ graceMs: 0 }));
  await attempt('remove', () => store.chats.remove('c1'));
  await attempt('close', () => store.close());
}

async function useChat(store: Store, id: string): Promise<void> {
  const verbs = [
    'status',
    'messages',
    'events',
    'problems',
    'clarifications',
    'export',
    'markdown',
    'search',
    'follow',
    'message',
    'add',
    'edit',
    'redact',
    'resume',
    'ask',
    'archive',
    'unarchive',
  ] as const;
  for (const verb of verbs) {
    await attempt(`${id} ${verb}`, async () => {
      const chat = await store.chats.open(id);
      const signal = AbortSignal.timeout(1);
      await {
        status: () => chat.status(),
        messages: () => chat.messages({ limit: 100 }),
        events: () => chat.events({ limit: 100 }),
        problems: () => chat.problems(),
        clarifications: () => chat.clarifications(),
        export: () => drain(chat.export({ format: 'json' })),
        markdown: () => drain(chat.export()),
        search: () => chat.search('he'),
        follow: () => drain(chat.follow({ signal })).catch(() => undefined),
        message: () => chat.message('m2'),
        add: () => chat.add({ role: 'user', content: 'more' }),
        edit: () => chat.edit('m2', 'edited'),
        redact: () => chat.redact('m2', { reason: 'x', erase: true }),
        resume: () => chat.resume('m2'),
        ask: () => chat.ask([{ id: 'q', kind: 'text', text: '?' }]),
        archive: () => chat.archive(),
        unarchive: () => chat.unarchive(),
      }[verb]();
    });
  }
}

async function useWorkflows({ workflows }: Store): Promise<void> {
  const ids = new Set<string>();
  for (const state of ['active', 'completed', 'all'] as const) {
    await attempt(`list ${state}`, async () => {
      const { items } = await workflows.list({ state, details: true });
      for (const { id } of items) ids.add(id);
    });
  }
  await attempt('bundles', () => workflows.bundles.list());
  for (const id of ids) {
    await attempt('steps', () => workflows.steps(id));
    await attempt('context', () => workflows.context(id));
    await attempt('step', () => workflows.step(id, { role: 'coder', content: 'more' }));
    await attempt('fork', () => workflows.fork(id, { at: -1 }));
    await attempt('end', () => workflows.end(id));
    await attempt('remove', () => workflows.remove(id));
  }
}

async function drain(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items) continue;
}

const ROLLS = fc.array(fc.nat(1_000_000), { minLength: 12, maxLength: 12 });

describe('a forged document or line', { timeout: 120_000 }, () => {
  it('leads to an answer, or to an error that says what to do', async () => {
    const property = fc.asyncProperty(ROLLS, async (rolls) => {
      const { engine } = await openSample(disk.copy());
      const planted = await plant(engine, new Dice(rolls));
      await expect(useAll(storeOver(engine)), planted).resolves.toBeUndefined();
    });
    await fc.assert(property, { numRuns: Number(process.env['QUIPU_RUNS'] ?? 60) });
  });

  it('is seen where somebody believes it', async () => {
    const believe = async (rolls: readonly number[]): Promise<void> => {
      const { engine } = await openSample(disk.copy());
      await plant(engine, new Dice(rolls));
      await attempt('believe', async () => {
        const [line = '{}'] = await engine.readLog('chats/session-c1.events.ndjson', 0, 1);
        const { payload } = JSON.parse(line) as { payload: { content_ref: { length: string } } };
        expect(payload.content_ref.length.toString()).not.toBe('');
      });
      await engine.close();
    };
    await expect(fc.assert(fc.asyncProperty(ROLLS, believe), { numRuns: 500 })).rejects.toThrow(
      'Property failed',
    );
  });

  it('begins from a store that is whole', async () => {
    const { engine } = await openSample(disk.copy());
    const store = storeOver(engine);
    expect((await store.maintain.verify()).problems).toEqual([]);
    expect(places.length).toBeGreaterThan(20);
    expect((await engine.tips()).turn).toBe(NO_TURN);
    await store.close();
  });
});
