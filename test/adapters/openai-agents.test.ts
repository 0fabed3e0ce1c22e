import { Agent, MemorySession } from '@openai/agents-core';
import type { AgentInputItem } from '@openai/agents-core';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { QuipuSession } from '../../src/adapters/openai-agents.ts';
import { openStore } from '../../src/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { projectPath } from '../support/project.ts';
import { ScriptedModel, assistant, call, runner, useSdk } from './openai-agents-rig.ts';

async function setUp(): Promise<{ folder: string; store: Store; session: QuipuSession }> {
  const folder = mkdtempSync(join(tmpdir(), 'quipu-openai-'));
  const store = await openStore(folder);
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { folder, store, session: new QuipuSession(store, { sessionId: 'a/b%' }) };
}

const user = (content: string): AgentInputItem => ({ type: 'message', role: 'user', content });

describe('the runner of the OpenAI Agents SDK', () => {
  it('does with tools and hand-offs what it does with the session of the SDK', async () => {
    const { store, session } = await setUp();
    const expected = await useSdk(new MemorySession());
    expect(expected.outputs).toEqual(['Dear all, Lima is dry.', 'Writer', 'Cusco is dry, too.']);
    expect(expected.items).toHaveLength(10);
    const actual = await useSdk(session);
    expect(actual).toEqual(expected);
    // The bytes are the same, too, in a session of another process.
    const other = new QuipuSession(store, { sessionId: 'a/b%' });
    expect(JSON.stringify(await other.getItems())).toBe(JSON.stringify(expected.items));
  });

  it('goes on in a fork without a trace in the session it came from', async () => {
    const { session } = await setUp();
    const script = ['one', 'two', 'three'].map((text) => [assistant(text)]);
    const agent = new Agent({ name: 'A', model: new ScriptedModel(script) });
    await runner.run(agent, 'first', { session });
    await runner.run(agent, 'second', { session });
    const fork = await session.fork({ keep: 2 });
    await runner.run(agent, 'another second', { session: fork });
    const texts = async (of: QuipuSession): Promise<unknown[]> =>
      (await of.getItems()).map((item) => {
        const { content } = item as { content: string | { text: string }[] };
        return typeof content === 'string' ? content : content[0]?.text;
      });
    expect(await texts(session)).toEqual(['first', 'one', 'second', 'two']);
    expect(await texts(fork)).toEqual(['first', 'one', 'another second', 'three']);
    expect(await fork.getSessionId()).not.toBe(await session.getSessionId());
    expect(await texts(await session.fork())).toEqual(await texts(session));
    expect(await (await session.fork({ keep: 0 })).getItems()).toEqual([]);
    await expect(session.fork({ sessionId: 'a/b%' })).rejects.toMatchObject({ code: 'EXISTS' });
  });
});

describe('a session', () => {
  it('gives the newest items, pops and clears, as the session of the SDK does', async () => {
    const { store, session } = await setUp();
    const memory = new MemorySession();
    const seen: unknown[][] = [];
    for (const it of [session, memory]) {
      const log: unknown[] = [await it.getItems(), await it.popItem()];
      await it.addItems([]);
      await it.addItems([user('a'), user('b'), user('c')]);
      for (const limit of [0, -1, 1, 2, 3, 9]) log.push(await it.getItems(limit));
      log.push(await it.popItem(), await it.getItems());
      await it.addItems([user('d')]);
      log.push(await it.getItems(2));
      await it.clearSession();
      log.push(await it.getItems(), await it.popItem());
      await it.addItems([user('e')]);
      log.push(await it.getItems());
      seen.push(log);
    }
    expect(seen[0]).toEqual(seen[1]);
    // Nothing was lost: what was cleared can be moved to.
    const { id, head } = (await store.contexts.byName('openai-agents/a%2Fb%25'))!;
    const cleared = (await store.contexts.turn(head - 1n))!;
    expect(cleared.payload).toEqual(user('d'));
    await store.maintain.gc({ graceMs: 0 });
    await store.contexts.moveHead(id, cleared.id);
    expect(await session.getItems()).toEqual([user('a'), user('b'), user('d')]);
  });

  it('leaves out turns of others and items that were erased, and keeps bytes', async () => {
    const { store, session } = await setUp();
    const data = new Uint8Array([0, 255, 7]);
    const image: AgentInputItem = {
      type: 'function_call_result',
      name: 'photo',
      callId: 'c',
      status: 'completed',
      output: { type: 'image', image: { data, mediaType: 'image/png' } },
    };
    await session.addItems([user('secret'), image]);
    const { id, head } = (await store.contexts.byName('openai-agents/a%2Fb%25'))!;
    await store.contexts.tombstone(head - 1n, 'private');
    await store.contexts.append(id, { type: 'note', payload: 'of somebody else' });
    await store.contexts.append(id, { type: 'openai.item', payload: null });
    expect(await session.getItems()).toEqual([image]);
    expect(await session.getItems(2)).toEqual([image]);
    expect(await session.popItem()).toEqual(image);
    expect(await session.popItem()).toBeUndefined();
  });

  it('rewrites its history in one commit', async () => {
    const { session } = await setUp();
    const weather = (args: string): AgentInputItem => call('weather', 'c1', args) as AgentInputItem;
    await session.addItems([user('a'), weather('{}'), user('b'), weather('{}')]);
    const replacement = weather('{"city":"Lima"}') as Extract<
      AgentInputItem,
      { type: 'function_call' }
    >;
    await session.applyHistoryMutations({
      mutations: [{ type: 'replace_function_call', callId: 'c1', replacement }],
    });
    expect(await session.getItems()).toEqual([user('a'), replacement, user('b')]);
    await session.applyHistoryMutations({ mutations: [] });
    const compaction = { type: 'compaction', encrypted_content: 'x' } as const;
    await session.replaceHistoryWithCompaction([compaction, user('b')]);
    expect(await session.getItems()).toEqual([compaction, user('b')]);
    await session.replaceHistoryWithCompaction([compaction]);
    expect(await session.getItems()).toEqual([compaction]);
  });

  it('loses nothing when two processes add to it at once', async () => {
    const { folder, store, session } = await setUp();
    const program = `
      import { openStore } from ${JSON.stringify(projectPath('dist/index.js'))};
      import { QuipuSession } from ${JSON.stringify(projectPath('dist/adapters/openai-agents.js'))};
      const store = await openStore(process.argv[1]);
      const session = new QuipuSession(store, { sessionId: 'a/b%' });
      for (let n = 0; n < 40; n += 1) {
        await session.addItems([0, 1].map((i) => ({ role: 'user', content: process.argv[2] + n + '.' + i })));
      }
      await store.close();`;
    const exits = ['x', 'y'].map((who) => {
      const argv = ['--input-type=module', '-e', program, folder, who];
      const child = spawn(process.execPath, argv, { stdio: ['ignore', 'ignore', 'inherit'] });
      onTestFinished(() => void child.kill('SIGKILL'));
      return new Promise((resolve) => child.on('close', resolve));
    });
    expect(await Promise.all(exits)).toEqual([0, 0]);
    const texts = (await session.getItems()).map((item) => (item as { content: string }).content);
    expect(texts).toHaveLength(160);
    for (const who of ['x', 'y']) {
      const own = texts.filter((text) => text.startsWith(who));
      const expected = Array.from({ length: 40 }, (_, n) => [
        `${who}${n}.0`,
        `${who}${n}.1`,
      ]).flat();
      expect(own).toEqual(expected);
    }
    // The items of one call stand together.
    for (let at = 0; at < texts.length; at += 2) {
      expect(texts[at + 1]).toBe(texts[at]!.replace(/0$/, '1'));
    }
    expect((await store.contexts.list()).items).toHaveLength(1);
  });
});
