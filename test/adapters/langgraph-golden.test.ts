import { AIMessage, HumanMessage } from '@langchain/core/messages';
import type { Checkpoint } from '@langchain/langgraph-checkpoint';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { QuipuSaver } from '../../src/adapters/langgraph.ts';
import type { NewTurn } from '../../src/context/contexts.ts';
import type { Store } from '../../src/store/store.ts';
import { projectPath } from '../support/project.ts';
import { METADATA, setUp } from './langgraph-rig.ts';
import type { Values } from './langgraph-rig.ts';

// What the first version of the saver stored: it must be read for ever. The same calls still store the same turns.

interface StoredContext {
  readonly name: string;
  readonly kind: string;
  /** The context and the depth of the turn that it begins after. */
  readonly base?: readonly [context: string, depth: number];
  readonly turns: readonly NewTurn[];
}

const STORED = JSON.parse(
  readFileSync(projectPath('test/golden/langgraph-store.json'), 'utf8'),
) as readonly StoredContext[];

const TEXT = 'a long text '.repeat(30);
const IMAGE = new Uint8Array(300).map((_, at) => at);
const FIRST = [new HumanMessage({ id: 'm1', content: 'hello' })];
const SECOND = [...FIRST, new AIMessage({ id: 'm2', content: TEXT })];
const EDITED = [new HumanMessage({ id: 'm1', content: TEXT }), SECOND[1], 3];
/** The same array each time: a channel that did not change. */
const GONE: unknown[] = [];
const LEFT = { messages: SECOND, step: 2, image: IMAGE, set: new Set([1]), constructor: 'c' };
const EDIT = { messages: EDITED, step: 3, image: IMAGE, constructor: 'c', nothing: null };

const CHECKPOINTS: readonly [id: string, parent: string | undefined, values: Values][] = [
  ['c1', undefined, { messages: FIRST, step: 1, image: IMAGE, gone: GONE }],
  ['c2', 'c1', LEFT],
  ['c3', 'c1', { messages: [...FIRST, 'another'], step: -2, image: IMAGE, gone: GONE }],
  ['c4', 'c2', EDIT],
];

function placeOf(id?: string, namespace = ''): { configurable: Record<string, string> } {
  const at = { thread_id: 'a/b', checkpoint_ns: namespace };
  return { configurable: { ...at, ...(id !== undefined && { checkpoint_id: id }) } };
}

/** The versions of channels that did not change are left out, as a graph does. */
async function save(
  saver: QuipuSaver,
  [id, parent, values]: (typeof CHECKPOINTS)[number],
  before: Values = {},
  namespace = '',
): Promise<void> {
  const versions = Object.entries(values).map(([channel]) => [channel, id] as const);
  const checkpoint: Checkpoint = {
    v: 4,
    id,
    ts: '2026-01-01T00:00:00.000Z',
    channel_values: values,
    channel_versions: Object.fromEntries(versions),
    versions_seen: {},
  };
  const changed = versions.filter(([channel]) => values[channel] !== before[channel]);
  const place = placeOf(parent, namespace);
  await saver.put(place, checkpoint, METADATA, Object.fromEntries(changed));
}

async function write(saver: QuipuSaver): Promise<void> {
  const [first, second, third, fourth] = CHECKPOINTS;
  await save(saver, first!);
  await save(saver, second!, first![2]);
  await save(saver, third!, first![2]);
  const list = ['messages', ['short', TEXT]] as const;
  await saver.putWrites(placeOf('c2'), [[...list], ['step', 3], ['__error__', 'no']], 'task-1');
  await saver.putWrites(placeOf('c2'), [[...list], ['step', 4], ['__error__', 'yes']], 'task-1');
  await saver.putWrites(placeOf('c2'), [['toString', IMAGE]], 'task-2');
  await save(saver, fourth!, second![2]);
  await save(saver, ['s1', undefined, { step: 1 }], {}, 'sub|1');
}

function toStored({ type, encoding = 'json', payload }: NewTurn): NewTurn {
  const isBytes = payload instanceof Uint8Array;
  return { type, encoding, payload: isBytes ? Buffer.from(payload).toString('base64') : payload };
}

function toTurn(turn: NewTurn): NewTurn {
  if (turn.encoding !== 'bytes') return turn;
  return { ...turn, payload: Buffer.from(String(turn.payload), 'base64') };
}

async function storedIn(store: Store): Promise<StoredContext[]> {
  const contexts = (await store.contexts.list({ namePrefix: 'langgraph/' })).items;
  const names = new Map(contexts.map(({ id, name = '' }) => [id, name]));
  const stored: StoredContext[] = [];
  const fromOldest = contexts.toSorted((a, b) => Number(a.id - b.id));
  for (const { id, name = '', kind = '', base } of fromOldest) {
    const before = base === 0n ? undefined : await store.contexts.turn(base);
    const from = before === undefined ? 0 : before.depth + 1;
    const { turns } = await store.contexts.range(id, from, Number.MAX_SAFE_INTEGER);
    stored.push({
      name,
      kind,
      ...(before !== undefined && { base: [names.get(before.context) ?? '', before.depth] }),
      turns: turns.map(toStored),
    });
  }
  return stored;
}

async function restore(store: Store): Promise<void> {
  for (const { name, kind, base, turns } of STORED) {
    const from = base && (await store.contexts.byName(base[0]));
    const at = from && (await store.contexts.range(from.id, base[1], base[1] + 1)).turns[0];
    const { id } = await store.contexts.create({ name, kind, ...(at && { base: at.id }) });
    await store.contexts.appendBatch(id, turns.map(toTurn));
  }
}

async function expectAll(saver: QuipuSaver): Promise<void> {
  for (const [id, parent, values] of CHECKPOINTS) {
    const tuple = await saver.getTuple(placeOf(id));
    expect(tuple?.checkpoint.channel_values, id).toEqual(values);
    expect(tuple?.parentConfig).toEqual(parent && placeOf(parent));
    expect(tuple?.metadata).toEqual(METADATA);
  }
  expect((await saver.getTuple(placeOf()))?.checkpoint.id).toBe('c4');
  expect((await saver.getTuple(placeOf('c2')))?.pendingWrites).toEqual([
    ['task-1', 'messages', ['short', TEXT]],
    ['task-1', 'step', 3],
    ['task-1', '__error__', 'yes'],
    ['task-2', 'toString', IMAGE],
  ]);
  const inside = await saver.getTuple(placeOf(undefined, 'sub|1'));
  expect(inside?.checkpoint.channel_values).toEqual({ step: 1 });
}

it('reads what the first version stored, and goes on with it', async () => {
  const { store, saver } = await setUp();
  await restore(store);
  await expectAll(saver);
  const values = { messages: [...SECOND, 'more'], step: 5 };
  await save(saver, ['c5', 'c2', values], LEFT);
  const read = await new QuipuSaver(store).getTuple(placeOf());
  expect(read?.checkpoint.channel_values).toEqual(values);
});

it('stores the same turns for the same calls', async () => {
  const { store, saver } = await setUp();
  await write(saver);
  await expectAll(saver);
  expect(await storedIn(store)).toEqual(STORED);
});
