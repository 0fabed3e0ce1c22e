import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Database } from '../../src/base/sqlite.ts';
import { chatGpt, claudeAi, jsonl, quipuExport } from '../../src/import/sources/named-files.ts';
import { copilot } from '../../src/import/sources/copilot.ts';
import { gemini } from '../../src/import/sources/gemini.ts';
import { opencode } from '../../src/import/sources/opencode.ts';
import { createScene, showAll } from './rig.ts';

const turnsOf = (shown: readonly Record<string, unknown>[]): unknown[] =>
  shown.map(({ turns }) => turns);

describe('a session of Gemini CLI', () => {
  const FILE = 'tmp/slug/chats/session-2026-01-01T00-00-s1.jsonl';
  const META = { sessionId: 's1', projectHash: 'h', startTime: '2026-01-01T00:00:00.000Z' };

  it('is replayed: the last version of a message counts, and a rewind leaves a branch', async () => {
    const scene = await createScene();
    await scene.write('tmp/slug/.project_root', '/w');
    await scene.write(FILE, [
      META,
      { id: 'm1', type: 'user', content: [{ text: 'hi' }] },
      { id: 'm2', type: 'gemini', content: '', model: 'x', toolCalls: [] },
      { id: 'm2', type: 'gemini', content: 'done', model: 'x' },
      { $rewindTo: 'm2' },
      { id: 'm3', type: 'gemini', content: 'better', model: 'x' },
      { $set: { summary: 'Greeting' } },
    ]);
    await scene.run(gemini);
    expect(await showAll(scene.store, gemini)).toMatchObject([
      {
        title: 'Greeting',
        meta: { cwd: '/w', model: 'x' },
        turns: ['user: hi', 'marker rewind: ', 'assistant: better'],
      },
      { turns: ['user: hi', 'assistant: done'] },
    ]);
    expect(await scene.run(gemini)).toMatchObject({ turns: 0 });
  });

  it('takes injected text for no turn, and a response for a result', async () => {
    const scene = await createScene();
    const injected = '<session_context>\ntoday\n</session_context>';
    const response = {
      functionResponse: { id: 'ls__1', name: 'ls', response: { output: 'a.txt' } },
    };
    await scene.write(FILE, [
      META,
      { $set: { messages: [{ id: 'c0', type: 'user', content: [{ text: injected }] }] } },
      {
        id: 'm4',
        type: 'gemini',
        content: '',
        model: 'x',
        toolCalls: [{ id: 'ls__1', name: 'ls', args: {}, result: [response], status: 'success' }],
      },
      { id: 'm5', type: 'user', content: [response] },
    ]);
    const report = await scene.run(gemini);
    expect(turnsOf(await showAll(scene.store, gemini))).toEqual([
      ['assistant: call ls {}', 'tool: result a.txt'],
    ]);
    expect(report).toMatchObject({ forks: 0 });
  });

  it('is compressed into a branch of its own', async () => {
    const scene = await createScene();
    const message = (id: string, type: string, content: unknown): object => ({ id, type, content });
    await scene.write(FILE, [
      META,
      message('m1', 'user', 'one'),
      message('m2', 'gemini', 'two'),
      message('m3', 'user', 'three'),
      {
        $set: {
          messages: [message('m1', 'user', [{ text: 'one' }]), message('n1', 'user', 'so far')],
        },
      },
      message('m4', 'gemini', 'four'),
    ]);
    await scene.run(gemini);
    expect(turnsOf(await showAll(scene.store, gemini))).toEqual([
      ['user: one', 'marker compaction: ', 'user: so far', 'assistant: four'],
      ['user: one', 'assistant: two', 'user: three'],
    ]);
  });

  it('is one JSON object in older versions', async () => {
    const scene = await createScene();
    await scene.write(
      'tmp/hash/chats/session-old.json',
      JSON.stringify({ ...META, messages: [{ id: '0', type: 'user', content: 'hi' }] }, null, 2),
    );
    await scene.write('tmp/hash/chats/session-empty.json', '');
    expect(await scene.run(gemini)).toMatchObject({ turns: 1, files: 2 });
    expect(turnsOf(await showAll(scene.store, gemini))).toEqual([['user: hi']]);
  });
});

describe('a session of Copilot CLI', () => {
  it('is one chain, and its subagents are contexts of their own', async () => {
    const scene = await createScene();
    let last: string | null = null;
    const event = (id: string, type: string, data: object, more: object = {}): object => {
      const made = { type, data, id, timestamp: '2026-01-01T00:00:00Z', parentId: last, ...more };
      last = id;
      return made;
    };
    const call = { toolCallId: 'c1', name: 'bash', arguments: { command: 'ls' } };
    await scene.write('session-state/s1/events.jsonl', [
      event('e1', 'session.start', { sessionId: 's1', context: { cwd: '/w', branch: 'main' } }),
      event('e2', 'user.message', { content: 'list', attachments: [] }),
      event('e3', 'assistant.message', {
        messageId: 'm1',
        model: 'x',
        content: 'a',
        chunkIndex: 0,
      }),
      event('e4', 'assistant.message', {
        messageId: 'm1',
        model: 'x',
        content: '',
        toolRequests: [call],
      }),
      event('e5', 'tool.execution_complete', {
        toolCallId: 'c1',
        success: true,
        result: { content: 'a.txt' },
      }),
      event('e6', 'subagent.started', { toolCallId: 'c1', agentName: 'scout', model: 'y' }),
      event('e7', 'user.message', { content: 'look' }, { agentId: 'c1' }),
      event('e8', 'session.compaction_complete', { summaryContent: 'so far' }),
      event('e9', 'session.shutdown', {
        modelMetrics: { x: { usage: { inputTokens: 10, cacheReadTokens: 4, outputTokens: 2 } } },
      }),
    ]);
    await scene.write('session-state/s1/workspace.yaml', 'id: s1\nname: "My work"\n');
    await scene.run(copilot);
    expect(await showAll(scene.store, copilot)).toMatchObject([
      {
        title: 'My work',
        meta: { cwd: '/w', branch: 'main', model: 'x' },
        turns: [
          'user: list',
          'assistant: a | call bash {"command":"ls"}',
          'tool: result a.txt',
          'marker compaction: so far',
        ],
      },
      { meta: { agent: 'scout', parent: { session: 's1' } }, turns: ['user: look'] },
    ]);
    expect(await scene.run(copilot)).toMatchObject({ turns: 0, unchanged: 1 });
  });
});

describe('a session of opencode', () => {
  const PICTURE = Buffer.from('a picture').toString('base64');
  const ASSISTANT = {
    role: 'assistant',
    modelID: 'x',
    providerID: 'p',
    tokens: { input: 9, output: 2 },
  };

  function fill(path: string, log: boolean): Database {
    const database = new Database(path);
    if (log) database.exec('PRAGMA journal_mode = WAL');
    database.exec(`CREATE TABLE session(id TEXT, parent_id TEXT, title TEXT, directory TEXT, version TEXT, revert TEXT,
        time_created INTEGER, time_updated INTEGER);
      CREATE TABLE message(id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
      CREATE TABLE part(id TEXT, message_id TEXT, session_id TEXT, data TEXT);`);
    const session = database.prepare('INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?)');
    session.run('ses_1', null, 'Listing', '/w', '1.0', null, 1, 5);
    session.run('ses_child', 'ses_1', 'Look', '/w', '1.0', null, 2, 6);
    const message = database.prepare('INSERT INTO message VALUES (?, ?, ?, ?)');
    const part = database.prepare('INSERT INTO part VALUES (?, ?, ?, ?)');
    message.run(
      'msg_1',
      'ses_1',
      1,
      JSON.stringify({ role: 'user', time: { created: 1767225600000 } }),
    );
    part.run('prt_1', 'msg_1', 'ses_1', JSON.stringify({ type: 'text', text: 'list' }));
    message.run('msg_2', 'ses_1', 2, JSON.stringify(ASSISTANT));
    const state = { status: 'completed', input: { command: 'ls' }, output: 'x '.repeat(30_000) };
    part.run(
      'prt_2',
      'msg_2',
      'ses_1',
      JSON.stringify({ type: 'tool', callID: 'c1', tool: 'bash', state }),
    );
    const url = `data:image/png;base64,${PICTURE}`;
    part.run('prt_3', 'msg_2', 'ses_1', JSON.stringify({ type: 'file', mime: 'image/png', url }));
    message.run('msg_3', 'ses_child', 3, JSON.stringify({ role: 'user' }));
    part.run('prt_4', 'msg_3', 'ses_child', JSON.stringify({ type: 'text', text: 'look' }));
    return database;
  }

  it.each([false, true])('comes from a database, also with a log of writes: %s', async (log) => {
    const scene = await createScene();
    const path = await scene.write('opencode.db', '');
    const database = fill(path, log);
    if (!log) database.close();
    const report = await scene.run(opencode);
    expect(await showAll(scene.store, opencode)).toMatchObject([
      { title: 'Listing', meta: { cwd: '/w', model: 'p/x' }, turns: { length: 2 } },
      { meta: { parent: { session: 'ses_1', context: 'context 1' } }, turns: ['user: look'] },
    ]);
    expect(report).toMatchObject({ sessions: 2, turns: 3, blobs: 2 });
    expect(await scene.run(opencode)).toMatchObject({ turns: 0, unchanged: 2 });
    database.close();
  });

  it('comes from the files of older versions, and from an export', async () => {
    const scene = await createScene();
    const part = { id: 'other', type: 'text', text: 'hi' };
    await scene.write(
      'storage/session/p1/ses_a.json',
      JSON.stringify({ id: 'wrong', title: 'Old' }),
    );
    await scene.write('storage/message/ses_a/msg_1.json', JSON.stringify({ role: 'user' }));
    await scene.write('storage/part/msg_1/prt_1.json', JSON.stringify(part));
    await scene.run(opencode);
    const message = {
      info: { id: 'msg_9', role: 'user' },
      parts: [{ type: 'text', text: 'exported' }],
    };
    const path = await scene.write(
      'ses_b.json',
      JSON.stringify({ info: { id: 'ses_b', title: 'B' }, messages: [message] }),
    );
    await scene.run(opencode, { place: path });
    expect(await showAll(scene.store, opencode)).toMatchObject([
      { title: 'Old', turns: ['user: hi'] },
      { title: 'B', turns: ['user: exported'] },
    ]);
    await copyFile(path, join(scene.home, 'copy.json'));
  });
});

describe('an export of chats', () => {
  const node = (id: string, parent: string | null, text?: string, role = 'user'): object => ({
    id,
    parent,
    children: [],
    message:
      text === undefined
        ? null
        : {
            id,
            author: { role },
            content: { content_type: 'text', parts: [text] },
            metadata: { model_slug: 'g' },
          },
  });

  it('of ChatGPT has the main branch of each conversation, and forks', async () => {
    const scene = await createScene();
    const mapping = {
      r: node('r', null),
      n1: node('n1', 'r', 'hi'),
      n2: node('n2', 'n1', 'one', 'assistant'),
      n3: node('n3', 'n1', 'two', 'assistant'),
    };
    const chat = {
      conversation_id: 'k1',
      title: 'T',
      create_time: 1767225600.5,
      current_node: 'n2',
      mapping,
    };
    await scene.write(
      'conversations.json',
      JSON.stringify([
        chat,
        { ...chat, conversation_id: 'k2', mapping: { n1: node('n1', 'n1', 'a circle') } },
      ]),
    );
    expect(await scene.run(chatGpt)).toMatchObject({ turns: 4, forks: 1, unlinked: 1 });
    expect(turnsOf(await showAll(scene.store, chatGpt))).toEqual([
      ['user: hi', 'assistant: one'],
      ['user: hi', 'assistant: two'],
      ['user: a circle'],
    ]);
    expect(await scene.run(chatGpt)).toMatchObject({ turns: 0, unchanged: 1 });
  });

  it('of Claude.ai is read in its order, or as a tree', async () => {
    const scene = await createScene();
    const message = (uuid: string, sender: string, text: string, parent?: string): object => ({
      uuid,
      sender,
      text: 'placeholder',
      content: [{ type: 'text', text }],
      created_at: '2026-01-01T00:00:00Z',
      ...(parent !== undefined && { parent_message_uuid: parent }),
    });
    const root = '00000000-0000-4000-8000-000000000000';
    await scene.write(
      'conversations.json',
      JSON.stringify([
        {
          uuid: 'a',
          name: 'Plain',
          chat_messages: [message('1', 'human', 'hi'), message('2', 'assistant', 'ho')],
        },
        {
          uuid: 'b',
          name: 'Tree',
          chat_messages: [
            message('1', 'human', 'x', root),
            message('2', 'assistant', 'y', '1'),
            message('3', 'assistant', 'z', '1'),
          ],
        },
      ]),
    );
    await scene.run(claudeAi);
    expect(await showAll(scene.store, claudeAi)).toMatchObject([
      { title: 'Plain', turns: ['user: hi', 'assistant: ho'] },
      { title: 'Tree', turns: ['user: x', 'assistant: z'] },
      { turns: ['user: x', 'assistant: y'] },
    ]);
  });
});

describe('plain lines', () => {
  it('are messages in their order', async () => {
    const scene = await createScene();
    await scene.write('chat.jsonl', [
      { role: 'user', content: 'hi' },
      { role: 'assistant', text: 'ho', model: 'm', usage: { input_tokens: 1, output_tokens: 2 } },
      { role: 'user', content: 'hi' },
    ]);
    await scene.run(jsonl);
    expect(await showAll(scene.store, jsonl)).toMatchObject([
      { title: 'hi', meta: { model: 'm' }, turns: ['user: hi', 'assistant: ho', 'user: hi'] },
    ]);
  });

  it('are turns of a store', async () => {
    const scene = await createScene();
    const { id } = await scene.store.contexts.create();
    await scene.store.contexts.append(id, { type: 'chat', payload: { role: 'user', text: 'a' } });
    const turn = await scene.store.contexts.append(id, {
      type: 'chat',
      payload: { role: 'assistant', text: 'b' },
    });
    await scene.store.contexts.append(
      id,
      { type: 'chat', payload: { text: 'c' } },
      { parent: turn.parent },
    );
    const { turns } = await scene.store.contexts.last(id, 9);
    await scene.write(
      'export.jsonl',
      [...turns, turn].map((one) => JSON.parse(JSON.stringify(one)) as object),
    );
    await scene.run(quipuExport);
    expect(turnsOf(await showAll(scene.store, quipuExport))).toEqual([
      ['user: a', 'assistant: b'],
      ['user: a', 'user: c'],
    ]);
  });
});
