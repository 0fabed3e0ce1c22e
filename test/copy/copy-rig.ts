import { expect } from 'vitest';
import { toContextId, toHash, toTurnId } from '../../src/base/brand.ts';
import { hashBytes } from '../../src/base/hash.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { Upkeep } from '../../src/engine/upkeep.ts';
import { createStore } from '../../src/store/create-store.ts';
import { fillForCopy } from '../../src/testing/engine-suite/adoption-fixture.ts';
import { appendLines, blobOf } from '../../src/testing/engine-suite/fixture.ts';
import { withChanges } from '../../src/testing/with-changes.ts';

const ALL = 10_000;

/** Larger than what is copied in one piece, and cut into chunks by the files engine. */
const LARGE: Uint8Array = new Uint8Array(
  Buffer.from(Array.from({ length: 56_000 }, (_, at) => `${(at * 7919) % 10_007} `).join('')),
);
const TEXTS = ['first', 'with a key', 'better', 'hidden', 'tree 2', 'named', 'unused'];
const BLOBS = [...TEXTS.map((text) => blobOf(text).hash), blobOf(LARGE).hash];

/** Records of every kind, and threads of the kinds that live in logs, documents and blobs. */
export async function fillSource(engine: Engine): Promise<void> {
  await fillForCopy(engine);
  await engine.commit({ blobs: [blobOf('unused'), blobOf(LARGE)] });
  await appendLines(engine, 'logs/one', '{"n":1}', '{"n":2}', '{"n":"ü"}');
  await appendLines(engine, 'logs/one', '{"n":4}');
  await appendLines(engine, 'logs/two', '"only"');
  await engine.upkeep.eraseLines('logs/one', [{ line: 1, text: '0' }]);
  const store = createStore(engine);
  const { id } = await store.chats.create({ title: 'about copies' });
  const chat = await store.chats.open(id);
  await chat.add({ role: 'user', content: 'hello' });
  await store.workflows.start({ name: 'w', prompt: 'p', bundle: toHash('ab'.repeat(32)) });
  await store.contexts.pin(toTurnId(4), { reason: 'kept' });
  await store.contexts.moveHead(2, 4);
  const moved = await store.contexts.create({ base: toTurnId(4), name: 'moved' });
  await store.contexts.moveHead(moved.id, 0n);
}

/** All that can be asked of a store, in a form that compares. */
export async function tellAll(engine: Engine): Promise<unknown> {
  const { records } = engine.upkeep;
  const { turn, context, patch, open } = await engine.tips();
  const names = await engine.listLogs('', ALL);
  const contexts = Array.from({ length: Number(context) }, (_, at) => toContextId(at + 1));
  const keys = (await records.turns(toTurnId(1), ALL)).map(({ id, key }) => ({
    id,
    key: key && Buffer.from(key).toString('hex'),
  }));
  const turns = await Promise.all(keys.map(({ id }) => engine.getTurn(id)));
  return {
    tips: { turn, context, patch, open },
    keys,
    turns,
    contexts: await Promise.all(contexts.map((id) => engine.getContext(id))),
    patches: await records.patches(1, ALL),
    logs: await Promise.all(names.map(async (name) => [name, await engine.readLog(name, 0, ALL)])),
    docs: await records.docs(await engine.listDocs('', ALL)),
    blobs: await Promise.all(BLOBS.map(async (hash) => hashOf(await engine.getBlob(hash)))),
    named: await engine.findBySha256(await namedSha256(engine)),
    erased: await readErased(engine),
  };
}

function hashOf(bytes: Uint8Array | undefined): string | undefined {
  return bytes && hashBytes(bytes);
}

async function readErased(engine: Engine): Promise<string[]> {
  const erased: string[] = [];
  for await (const page of engine.upkeep.records.erased()) erased.push(...page);
  return erased.toSorted();
}

async function namedSha256(engine: Engine): Promise<string> {
  for await (const names of engine.upkeep.records.sha256Names()) {
    for (const { sha256, hash } of names) if (hash === blobOf('named').hash) return sha256;
  }
  return '0'.repeat(64);
}

export async function expectEqual(from: Engine, to: Engine): Promise<void> {
  expect(await tellAll(to)).toEqual(await tellAll(from));
  expect((await to.upkeep.check({ repair: false })).problems).toEqual([]);
}

/** Fails at a write, every other time only after it was carried out. */
export function cutAfter(engine: Engine, writes: number): Engine {
  let left = writes;
  const guard = async <T>(write: () => Promise<T>): Promise<T> => {
    left -= 1;
    if (left < 0 && writes % 4 === 1) await write();
    if (left < 0) throw new Error('cut off');
    return write();
  };
  const adopt: Upkeep['adopt'] = (adoption) => guard(() => engine.upkeep.adopt(adoption));
  return withChanges(withUpkeep(engine, { adopt }), {
    commit: (batch) => guard(() => engine.commit(batch)),
    putBlob: (source) => guard(() => engine.putBlob(source)),
  });
}

/** The engine with some of what looks after it replaced. */
export function withUpkeep(engine: Engine, changes: Partial<Upkeep>): Engine {
  return withChanges(engine, { upkeep: withChanges(engine.upkeep, changes) });
}
