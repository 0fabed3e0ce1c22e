import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { picture } from '../../src/testing/session-suite/fixture.ts';
import { toHash } from '../../src/base/brand.ts';
import { isQuipuError } from '../../src/base/errors.ts';
import { hashBytes } from '../../src/base/hash.ts';
import type { Batch } from '../../src/engine/batch.ts';
import { serveForAttack, WAYS } from './attack-rig.ts';
import type { AttackOptions, AttackRig, Way } from './attack-rig.ts';

// A client may write what is its own, and nothing that the server or its owner takes for the truth: no path, no
// program, no note of what was erased. Each document is planted over each protocol, and what it would have done is tried.

const HASH = 'ab'.repeat(32);
const THREAD = '01arz3ndektsv4rrffq69g5fav'.toUpperCase();

/** Documents and logs that must be refused, and what each would have been good for. */
function plants(outside: string): Record<string, Batch> {
  const doc = (name: string, content: unknown, publish = false): Batch => ({
    docs: [{ name, content: JSON.stringify(content), publish }],
  });
  const log = (name: string, ...lines: unknown[]): Batch => ({
    logs: [{ do: 'append', name, lines: lines.map((line) => JSON.stringify(line)) }],
  });
  const file = join(outside, 'notes.jsonl');
  return {
    'a session that is a foreign file': doc('session/evil', { id: 'evil', file }),
    'a session that moves': doc('session/moves', {
      id: 'moves',
      file: '/no.jsonl',
      movingTo: file,
    }),
    'the references of a session of the server': doc('session-refs/evil/000000', {}),
    'the end of those references': {
      docs: [{ name: 'session-refs/evil/000000', content: undefined }],
    },
    'references that stop every collection': doc('away/session-refs/x/000000', { x: 'no blob' }),
    'a record of a session that is none': doc('away/session/x', { id: 7 }),
    'a program for everyone': doc(
      'workflows/workflow.yaml',
      { workflows: { deploy: { versions: [{ hash: HASH, since: 1 }] } } },
      true,
    ),
    'the end of all programs': { docs: [{ name: 'workflows/workflow.yaml', content: undefined }] },
    'an index that cannot be read': doc(`workflows/bundles/${HASH}/threads.json`, { x: 1 }, true),
    'a note that cannot be read': doc(`workflows/threads/${THREAD}.json`, { bundle: '../..' }),
    'a history that cannot be read': log(`workflows/bundles/${HASH}/history/2026-01-01.jsonl`, {}),
    'another file among the workflows': doc('workflows/bundles/x.json', {}, true),
    'pins that cannot be read': doc('pins/turns.json', { pins: 'none' }),
    'other pins': doc('pins/other.json', {}),
    'a chat with an archive that is none': doc(
      'chats/session-c.meta.json',
      { session_id: 'c', archive: { hash: '../../x', lines: 1, bytes: 1 } },
      true,
    ),
    'a chat that is about another': doc('chats/session-c.meta.json', { session_id: 'd' }, true),
    'another file among the chats': log('chats/x', 1),
    'folds of a chat that cannot be read': log('chats-cache/session-c.ndjson', { segment: 1 }),
    'blobs that are held for ever': doc('chats-held/x.json', { at: 'never', hashes: ['no'] }),
    'a key that stands for a patch': doc(`patch-keys/1/${HASH}`, { payload: HASH, after: 0 }),
    'the list of what was erased': log('erased/blobs.jsonl', { hash: HASH }),
    'the end of that list': { logs: [{ do: 'remove', name: 'erased/blobs.jsonl' }] },
    'a log of its own': log('logs/mine', 1),
    'a document of its own': doc('mine', 1),
    'the events of a queue': doc('queues/inbox/events.db', {}, true),
    'what SQLite left of the lock': doc('lock.db-journal', {}, true),
    'the tokens, on a disk without case': doc('Tokens.json', { version: 1, tokens: [] }, true),
    'a reason of a turn that is none': doc('turn-notes/1.json', { reason: 7 }),
  };
}

/** What was planted after all. */
async function plantAll({ client, outside }: AttackRig, way: Way): Promise<string[]> {
  const { engine } = client(way);
  const accepted: string[] = [];
  for (const [what, batch] of Object.entries(plants(outside))) {
    try {
      await engine.commit(batch);
      accepted.push(what);
    } catch (error) {
      const isRefusal = isQuipuError(error, 'FORBIDDEN') || isQuipuError(error, 'INVALID');
      if (!isRefusal) throw error;
    }
  }
  return accepted;
}

describe('a token that may write', () => {
  it.each(WAYS)('plants no document that others trust, over %s', async (way) => {
    const rig = await serveForAttack();
    await rig.served.store.queues
      .open('inbox')
      .then((queue) => queue.push({ source: 'self', type: 'message', content: 'acknowledged' }));
    expect(await plantAll(rig, way)).toEqual([]);
    const { store, engine } = rig.served;
    expect(await engine.listDocs('', 100)).toEqual([]);
    expect(await engine.listLogs('', 100)).toEqual([]);
    const inbox = await store.queues.open('inbox');
    expect(await inbox.peek({ lastEventId: 0 })).toMatchObject([{ content: 'acknowledged' }]);
    expect(await store.maintain.gc()).toBeDefined();
  });

  it.each(WAYS)('does not say how bytes are compressed, over %s', async (way) => {
    const { client, served } = await serveForAttack();
    const bytes = Buffer.from('said '.repeat(100));
    const blob = { hash: hashBytes(bytes), bytes, zstd: Buffer.from('none') };
    const told = await client(way)
      .engine.commit({ blobs: [blob] })
      .catch((error: unknown) => error);
    const isTaken = await served.engine.hasBlob(blob.hash);
    expect(isTaken || isQuipuError(told, 'INVALID')).toBe(true);
    expect(await served.store.maintain.verify()).toMatchObject({ problems: [] });
  });

  it.each(WAYS)('would plant them if every name were let pass, over %s', async (way) => {
    const careless: AttackOptions['careless'] = (identity) => ({ ...identity, owner: true });
    expect((await plantAll(await serveForAttack({ careless }), way)).length).toBeGreaterThan(20);
  });
});

describe('what a client does with its own token', () => {
  it.each(WAYS)('is let through for every kind, over %s', async (way) => {
    const { client, served, outside } = await serveForAttack();
    const { store } = client(way);
    // Contexts, with a turn that is given up and one that is pinned.
    const context = await store.contexts.create();
    const turn = await store.contexts.append(context.id, { type: 't', payload: 'x' });
    await store.contexts.pin(turn.id);
    const open = await store.contexts.open(context.id, { type: 't' });
    await open.abort('enough');
    // Chats, with a payload in a blob, an archive and its way back.
    const chat = await store.chats.open((await store.chats.create({ title: 'c' })).id);
    const events = Array.from({ length: 1100 }, (_, n) => ({
      type: 'message_completed',
      payload: { message_id: `m${n}`, role: 'user', content: `${n}` },
    }));
    await chat.append(events);
    await chat.add({ role: 'user', content: 'x'.repeat(100_000) });
    expect((await chat.messages()).messages.at(-1)?.content).toHaveLength(100_000);
    await chat.archive();
    await chat.unarchive();
    // Workflows.
    const thread = await store.workflows.start({ name: 'w', prompt: 'p', bundle: toHash(HASH) });
    await store.workflows.step(thread.id, { role: 'r', content: 'c' });
    await store.workflows.end(thread.id, { summary: 'done' });
    // Sessions, with a picture.
    const session = await store.sessions.create({ folder: join(outside, 'mine') });
    await session.append(picture(Buffer.alloc(5000, 2)));
    await served.store.maintain.gc({ graceMs: 0 });
    expect((await session.load()).unresolved).toEqual([]);
    const { file } = await store.sessions.details(session.id);
    await store.sessions.move(session.id, join(outside, 'there'));
    await store.sessions.remove(session.id);
    expect(existsSync(file)).toBe(false);
    expect((await served.store.sessions.list()).items).toEqual([]);
  });
});

describe('a thread whose bundle a client brought', () => {
  const MODULE = `
    export const descriptor = { name: 'evil', roles: { a: {} } };
    export const roles = { a: () => 'owned' };
    export const table = { __start__: 'a', a: '__end__' };`;

  it.each(WAYS)('is run by nobody before its owner registers it, over %s', async (way) => {
    const { client, served } = await serveForAttack();
    const { store } = client(way);
    const { hash: bundle } = await store.blobs.put(Buffer.from(MODULE));
    const thread = await store.workflows.start({ name: 'deploy', prompt: 'p', bundle });
    const { workflows } = served.store;
    await expect(workflows.resume(thread.id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await workflows.get(thread.id)).toMatchObject({ state: 'active', head: thread.head });
    await workflows.bundles.add(MODULE);
    expect(await workflows.resume(thread.id)).toMatchObject({ summary: 'owned' });
  });
});

describe('the name of a queue', () => {
  it.each(WAYS)('leads to no other folder, over %s', async (way) => {
    const { client, served } = await serveForAttack();
    const { store } = client(way);
    for (const name of ['..', '.', '../outside', 'a/../../outside', '/x', '', 'a\\b']) {
      await expect(store.queues.open(name)).rejects.toMatchObject({ code: 'INVALID' });
    }
    expect(await served.store.queues.list()).toEqual([]);
  });
});

describe('a token that may read', () => {
  it.each(WAYS)('learns nothing of files by the names of logs, over %s', async (way) => {
    const { client, served, folder } = await serveForAttack();
    writeFileSync(join(folder, 'tokens.json'), 'SECRET');
    const { engine } = client(way, 'read');
    const names = ['../outside/notes.jsonl', 'tokens.json', 'FORMAT', 'turns/types.jsonl'];
    for (const name of [...names, '../../../../../../etc/passwd', '/etc/passwd']) {
      for (const reader of [engine, served.engine]) {
        expect(await reader.getLog(name)).toBeUndefined();
        expect(await reader.readLog(name, 0, 10)).toEqual([]);
        expect(await reader.salvageLog(name, 0, 10)).toBeUndefined();
        expect(await reader.getDoc(name)).toBeUndefined();
      }
    }
  });
});
