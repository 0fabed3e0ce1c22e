import {
  InMemorySessionStore,
  deleteSession,
  forkSession,
  getSessionInfo,
  getSessionMessages,
  importSessionToStore,
  listSessions,
  query,
  renameSession,
  tagSession,
} from '@anthropic-ai/claude-agent-sdk';
import type { SessionStore, SessionStoreEntry } from '@anthropic-ai/claude-agent-sdk';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { QuipuSessionStore } from '../../src/adapters/claude-agent.ts';
import { openStore } from '../../src/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { projectPath } from '../support/project.ts';

const KEY = { projectKey: 'my/project', sessionId: randomUUID() };

async function setUp(): Promise<{ folder: string; store: Store; sessions: QuipuSessionStore }> {
  const folder = mkdtempSync(join(tmpdir(), 'quipu-claude-'));
  const store = await openStore(join(folder, 'store'));
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { folder, store, sessions: new QuipuSessionStore(store) };
}

/** A transcript as the SDK writes it: a chain of messages of a user and an assistant. */
function transcript(sessionId: string, cwd: string, length: number): SessionStoreEntry[] {
  const entries: SessionStoreEntry[] = [];
  for (let n = 0; n < length; n += 1) {
    const role = n % 2 === 0 ? 'user' : 'assistant';
    const text = `message ${n}`;
    entries.push({
      type: role,
      uuid: randomUUID(),
      parentUuid: entries.at(-1)?.uuid ?? null,
      timestamp: new Date(1_790_000_000_000 + n * 1000).toISOString(),
      sessionId,
      cwd,
      isSidechain: false,
      userType: 'external',
      version: '1.0.0',
      message: { role, content: role === 'user' ? text : [{ type: 'text', text }] },
    });
  }
  return entries;
}

const entry = (n: number, uuid?: string): SessionStoreEntry => ({
  type: 'user',
  ...(uuid !== undefined && { uuid }),
  z: n,
  a: { b: [n, null, 'ü'] },
});

describe('a session store of the Claude Agent SDK', () => {
  it('gives back what was appended, with one commit for many entries', async () => {
    const { store, sessions } = await setUp();
    expect(await sessions.load(KEY)).toBeNull();
    const append = vi.spyOn(store.contexts, 'appendBatch');
    const entries = Array.from({ length: 500 }, (_, n) => entry(n, `u${n}`));
    await sessions.append(KEY, entries);
    expect(append).toHaveBeenCalledTimes(1);
    expect(await sessions.load(KEY)).toEqual(entries);
    expect(JSON.stringify(await new QuipuSessionStore(store).load(KEY))).toBe(
      JSON.stringify(entries),
    );
  });

  it('leaves out entries with an id that is there, and no others', async () => {
    const { store, sessions } = await setUp();
    await sessions.append(KEY, [entry(1, 'a'), entry(2), entry(1, 'a')]);
    const other = new QuipuSessionStore(store);
    await other.append(KEY, [entry(1, 'a'), entry(2), entry(3, 'b')]);
    await sessions.append(KEY, [entry(3, 'b'), entry(4, 'c')]);
    expect((await sessions.load(KEY))?.map(({ uuid }) => uuid)).toEqual([
      'a',
      undefined,
      undefined,
      'b',
      'c',
    ]);
  });

  it('leaves out turns of others, whatever they hold', async () => {
    const { store, sessions } = await setUp();
    await sessions.append(KEY, [entry(1, 'a')]);
    const { id } = (await store.contexts.list()).items[0]!;
    await store.contexts.append(id, { type: 'note', payload: { uuid: 'b' } });
    await store.contexts.append(id, { type: 'claude.entry', payload: null });
    await new QuipuSessionStore(store).append(KEY, [entry(2, 'b')]);
    expect(await sessions.load(KEY)).toEqual([entry(1, 'a'), entry(2, 'b')]);
  });

  it('loses and doubles nothing when two stores append at once', async () => {
    const { store, sessions } = await setUp();
    const other = new QuipuSessionStore(store);
    const calls = Array.from({ length: 20 }, (_, n) =>
      (n % 2 === 0 ? sessions : other).append(KEY, [
        entry(n, `u${n}`),
        entry(n >> 1, `both${n >> 1}`),
      ]),
    );
    await Promise.all(calls);
    const uuids = (await sessions.load(KEY))?.map(({ uuid }) => uuid);
    expect(new Set(uuids).size).toBe(30);
    expect(uuids).toHaveLength(30);
  });

  it('tells sessions, projects and subagents apart, whatever their ids are', async () => {
    const { sessions } = await setUp();
    const sub = { ...KEY, subpath: 'subagents/agent-1' };
    await sessions.append(KEY, [entry(1)]);
    await sessions.append(sub, [entry(2)]);
    await sessions.append({ projectKey: 'my', sessionId: 'project/x' }, [entry(3)]);
    expect(await sessions.listSubkeys(KEY)).toEqual(['subagents/agent-1']);
    expect((await sessions.listSessions('my/project')).map(({ sessionId }) => sessionId)).toEqual([
      KEY.sessionId,
    ]);
    expect((await sessions.listSessions('my')).map(({ sessionId }) => sessionId)).toEqual([
      'project/x',
    ]);
    await sessions.delete(sub);
    expect(await sessions.load(sub)).toBeNull();
    expect(await sessions.load(KEY)).toEqual([entry(1)]);
    await sessions.append(sub, [entry(2)]);
    await sessions.delete(KEY);
    expect([await sessions.load(KEY), await sessions.load(sub)]).toEqual([null, null]);
    expect(await sessions.load({ projectKey: 'my', sessionId: 'project/x' })).toEqual([entry(3)]);
  });
});

/** Does with the functions of the SDK what a program does, and returns what they said. */
async function useSdk(
  sessionStore: SessionStore,
  dir: string,
  sessionId: string,
): Promise<unknown> {
  const at = { dir, sessionStore };
  await importSessionToStore(sessionId, sessionStore, { dir, batchSize: 4 });
  await importSessionToStore(sessionId, sessionStore, { dir });
  const messages = await getSessionMessages(sessionId, at);
  await renameSession(sessionId, 'a new title', at);
  await tagSession(sessionId, 'kept', at);
  const { title, tag, ...info } = (await getSessionInfo(sessionId, at)) as unknown as Record<
    string,
    unknown
  >;
  const fork = await forkSession(sessionId, { ...at, upToMessageId: messages[5]!.uuid });
  const forked = await getSessionMessages(fork.sessionId, at);
  const listed = await listSessions(at);
  await deleteSession(sessionId, at);
  return {
    messages,
    title,
    tag,
    summary: info['summary'],
    forked: forked.map(({ type, message }) => ({ type, message })),
    listed: listed.filter(({ sessionId: id }) => id === sessionId || id === fork.sessionId).length,
    after: (await listSessions(at)).map(({ sessionId: id }) => id === fork.sessionId),
    gone: await getSessionMessages(sessionId, at),
  };
}

/** Runs `query` with a program that answers from a script. Returns what it said. */
async function ask(
  sessionStore: SessionStore,
  prompt: string,
  session: { cwd: string; sessionId?: string; resume?: string },
): Promise<string[]> {
  const said: string[] = [];
  const pathToClaudeCodeExecutable = projectPath('examples/scripted-claude.mjs');
  const options = { ...session, sessionStore, pathToClaudeCodeExecutable };
  for await (const message of query({ prompt, options })) {
    if (message.type === 'system') said.push(message.subtype);
    if (message.type === 'result' && message.subtype === 'success') said.push(message.result);
  }
  return said;
}

describe('query of the Claude Agent SDK', () => {
  it('mirrors its transcript, and resumes it on a machine that has only the store', async () => {
    const { folder, store, sessions } = await setUp();
    const cwd = join(folder, 'work');
    mkdirSync(cwd);
    onTestFinished(() => void vi.unstubAllEnvs());
    const sessionId = randomUUID();
    const kept: unknown[] = [];
    for (const [first, second] of [
      [new InMemorySessionStore()],
      [sessions, new QuipuSessionStore(store)],
    ] as const) {
      vi.stubEnv('CLAUDE_CONFIG_DIR', mkdtempSync(join(folder, 'first-')));
      expect(await ask(first, 'Write a report.', { cwd, sessionId })).toEqual(['finding 1']);
      vi.stubEnv('CLAUDE_CONFIG_DIR', mkdtempSync(join(folder, 'second-')));
      const other = second ?? first;
      expect(await ask(other, 'Go on.', { cwd, resume: sessionId })).toEqual(['finding 2']);
      const messages = await getSessionMessages(sessionId, { dir: cwd, sessionStore: other });
      kept.push(messages.map(({ type, message }) => ({ type, message })));
    }
    expect(kept[1]).toHaveLength(4);
    expect(kept[1]).toEqual(kept[0]);
  });
});

describe('the functions of the Claude Agent SDK', () => {
  it('give the same answers as with the store of the SDK in memory', async () => {
    const { folder, sessions } = await setUp();
    const sessionId = randomUUID();
    const dir = join(folder, 'work');
    const config = join(folder, 'config');
    vi.stubEnv('CLAUDE_CONFIG_DIR', config);
    onTestFinished(() => void vi.unstubAllEnvs());
    const project = join(config, 'projects', dir.replaceAll(/[^a-zA-Z0-9]/g, '-'));
    for (const path of [dir, project]) mkdirSync(path, { recursive: true });
    const lines = transcript(sessionId, dir, 10).map((line) => `${JSON.stringify(line)}\n`);
    writeFileSync(join(project, `${sessionId}.jsonl`), lines.join(''));

    const expected = (await useSdk(new InMemorySessionStore(), dir, sessionId)) as Record<
      string,
      unknown[]
    >;
    const actual = await useSdk(sessions, dir, sessionId);
    expect(expected['messages']).toHaveLength(10);
    expect(expected['forked']).toHaveLength(6);
    expect(expected['after']).toEqual([true]);
    expect(actual).toEqual(expected);
  });
});
