import { describe, expect, it } from 'vitest';
import { codex } from '../../src/import/sources/codex.ts';
import { createScene, showAll } from './rig.ts';

const THREAD = '11111111-1111-4111-8111-111111111111';
const CHILD = '22222222-2222-4222-8222-222222222222';
const nameOf = (thread: string, time = '2026-01-01T00-00-00'): string =>
  `sessions/2026/01/01/rollout-${time}-${thread}.jsonl`;

const message = (role: string, text: string, more: object = {}): object => ({
  type: 'response_item',
  payload: {
    type: 'message',
    role,
    content: [{ type: role === 'user' ? 'input_text' : 'output_text', text }],
    ...more,
  },
});
const event = (payload: object): object => ({ type: 'event_msg', payload });
const META = { type: 'session_meta', payload: { id: THREAD, cwd: '/w', source: 'cli' } };
const LEGACY = [
  META,
  { type: 'turn_context', payload: { cwd: '/w', model: 'model-x' } },
  message('user', 'hi'),
  event({ type: 'user_message', message: 'hi' }),
  {
    type: 'response_item',
    payload: { type: 'function_call', call_id: 'c1', name: 'shell', arguments: '{"cmd":"ls"}' },
  },
  {
    type: 'response_item',
    payload: { type: 'function_call_output', call_id: 'c1', output: 'a.txt' },
  },
  event({ type: 'thread_rolled_back', num_turns: 1 }),
  message('user', 'again'),
];

const turnsOf = (shown: readonly Record<string, unknown>[]): unknown[] =>
  shown.map(({ turns }) => turns);

describe('a session of Codex', () => {
  it('is one chain, and goes on in a fork after a rollback', async () => {
    const scene = await createScene();
    await scene.write(nameOf(THREAD), LEGACY);
    const report = await scene.run(codex);
    expect(turnsOf(await showAll(scene.store, codex))).toEqual([
      ['user: hi', 'assistant: call shell {"cmd":"ls"}', 'tool: result a.txt'],
      ['marker rollback: ', 'user: again'],
    ]);
    expect(report).toMatchObject({ turns: 5, forks: 1, sessions: 1, asides: 3 });
    expect(await scene.run(codex)).toMatchObject({ turns: 0, unchanged: 1 });
  });

  it('takes a text once that stands in an event and in an item', async () => {
    const scene = await createScene();
    await scene.write(nameOf(THREAD), [
      META,
      {
        ordinal: 4,
        ...event({
          type: 'item_completed',
          item: { type: 'AgentMessage', id: 'msg_1', content: [{ type: 'Text', text: 'done' }] },
        }),
      },
      { ordinal: 5, ...message('assistant', 'done', { id: 'msg_1' }) },
      {
        ordinal: 7,
        type: 'compacted',
        payload: { message: 'so far: done', replacement_history: [{ type: 'message' }] },
      },
      event({ type: 'agent_message', message: 'only an event' }),
    ]);
    const report = await scene.run(codex);
    expect(turnsOf(await showAll(scene.store, codex))).toEqual([
      ['assistant: done', 'marker compaction: ', 'assistant: '],
    ]);
    expect(report).toMatchObject({ blobs: 1 });
  });

  it('links a subagent to its parent', async () => {
    const scene = await createScene();
    await scene.write(nameOf(THREAD), LEGACY);
    await scene.write(nameOf(CHILD, '2026-01-01T00-10-00'), [
      {
        type: 'session_meta',
        payload: {
          id: CHILD,
          session_id: THREAD,
          cwd: '/w',
          source: { subagent: { thread_spawn: { parent_thread_id: THREAD, depth: 1 } } },
        },
      },
      message('user', 'look'),
    ]);
    await scene.run(codex);
    const shown = await showAll(scene.store, codex);
    expect(shown.at(-1)).toMatchObject({
      meta: { parent: { session: THREAD, context: 'context 2' } },
      turns: ['user: look'],
    });
  });

  it('shares the turns of the thread that it was forked from', async () => {
    const scene = await createScene();
    const origin = [META, message('user', 'one'), message('assistant', 'two')];
    await scene.write(nameOf(THREAD), origin);
    await scene.write(nameOf(CHILD, '2026-01-01T00-10-00'), [
      { type: 'session_meta', payload: { id: CHILD, forked_from_id: THREAD, cwd: '/w' } },
      ...origin,
      message('user', 'three'),
    ]);
    const report = await scene.run(codex);
    expect(turnsOf(await showAll(scene.store, codex))).toEqual([
      ['user: one', 'assistant: two'],
      ['user: one', 'assistant: two', 'user: three'],
    ]);
    expect(report).toMatchObject({ turns: 3, forks: 1 });
  });

  it('adds nothing when the file is written anew, and removes nothing', async () => {
    const scene = await createScene();
    const lines = [META, message('user', 'one'), message('assistant', 'two'), message('user', 'x')];
    await scene.write(nameOf(THREAD), lines);
    await scene.run(codex);
    await scene.write(nameOf(THREAD), [
      { ordinal: 0, ...META },
      { ordinal: 1, timestamp: '2026-02-01T00:00:00Z', ...message('user', 'one') },
      { ordinal: 2, ...message('user', 'x') },
      { ordinal: 3, ...message('assistant', 'new') },
    ]);
    expect(await scene.run(codex)).toMatchObject({ turns: 1 });
    expect(turnsOf(await showAll(scene.store, codex))).toEqual([
      ['user: one', 'assistant: two', 'user: x', 'assistant: new'],
    ]);
  });

  it('is read without envelopes, as before September 2025', async () => {
    const scene = await createScene();
    await scene.write(nameOf(THREAD), [
      { id: THREAD, timestamp: '2025-08-01T00:00:00Z', instructions: null },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'old' }] },
      { record_type: 'state' },
    ]);
    await scene.run(codex);
    expect(turnsOf(await showAll(scene.store, codex))).toEqual([['user: old']]);
  });
});
