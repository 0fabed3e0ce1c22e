import { expect, it } from 'vitest';
import { SOURCES } from '../../src/import/sources/all-sources.ts';
import { SHOWS } from '../../src/import/show/show-records.ts';
import { showPayload } from '../../web/src/shapes/show-turn.ts';
import type { Block } from '../../web/src/shapes/shown.ts';
import { contextsOf, createScene } from './rig.ts';

// The page shows an imported history as its agent would: messages, calls and results, and no tree of JSON.

const LONG = 'long output '.repeat(10_000);
const PICTURE = Buffer.alloc(2000, 9).toString('base64');

/** One session of each source, as lines of its own format. */
const SESSIONS: Readonly<Record<string, readonly [name: string, content: unknown]>> = {
  'claude-code': [
    'projects/-work/5d0c0a5e-0000-4000-8000-000000000000.jsonl',
    [
      { type: 'user', uuid: 'u1', message: { role: 'user', content: 'list' } },
      {
        type: 'assistant',
        uuid: 'a1',
        parentUuid: 'u1',
        timestamp: '2026-01-01T00:00:01Z',
        message: {
          id: 'm1',
          model: 'model-x',
          usage: { input_tokens: 9, output_tokens: 2 },
          content: [{ type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'ls' } }],
        },
      },
      {
        type: 'user',
        uuid: 'u2',
        parentUuid: 'a1',
        message: {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 't1', content: LONG },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE } },
          ],
        },
      },
    ],
  ],
  codex: [
    'sessions/2026/01/01/rollout-2026-01-01T00-00-00-5d0c0a5e-0000-4000-8000-000000000001.jsonl',
    [
      {
        type: 'response_item',
        payload: {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'list' },
            { type: 'input_image', image_url: `data:image/png;base64,${PICTURE}` },
          ],
        },
      },
    ],
  ],
  gemini: [
    'tmp/slug/chats/session-2026-01-01T00-00-00000000.jsonl',
    [
      { sessionId: 's1', projectHash: 'h' },
      { id: 'm1', type: 'user', content: [{ text: 'list' }] },
    ],
  ],
  copilot: [
    'session-state/s1/events.jsonl',
    [{ type: 'user.message', data: { content: 'list' }, id: 'e2', parentId: null }],
  ],
  chatgpt: [
    'conversations.json',
    [
      {
        id: 'k1',
        current_node: 'n1',
        mapping: {
          n1: {
            id: 'n1',
            parent: null,
            message: { author: { role: 'user' }, content: { parts: ['list'] } },
          },
        },
      },
    ],
  ],
  jsonl: ['a.jsonl', [{ role: 'user', content: 'list' }]],
};

async function showSession(name: string): Promise<ReturnType<typeof showPayload>[]> {
  const source = SOURCES.find((one) => one.name === name)!;
  const [file, content] = SESSIONS[name]!;
  const scene = await createScene();
  const isList = file.endsWith('.json');
  await scene.write(file, isList ? JSON.stringify(content) : (content as readonly object[]));
  await scene.run(source);
  const [context] = await contextsOf(scene.store, source);
  const { turns } = await scene.store.contexts.last(context!.id, 10);
  return turns.map(({ payload, type }) => showPayload(payload, type));
}

it.each(Object.keys(SESSIONS))('shows what was said in a history of %s', async (name) => {
  const [first] = await showSession(name);
  expect(first?.role).toBe('user');
  expect(first?.blocks[0]).toEqual({ kind: 'text', text: 'list' });
});

it('shows calls, long results, pictures, times and figures', async () => {
  const reference = expect.stringMatching(/^blob:sha256:[0-9a-f]{64}$/) as string;
  const [, call, result] = await showSession('claude-code');
  expect(call).toMatchObject({
    role: 'assistant',
    at: Date.parse('2026-01-01T00:00:01Z'),
    model: 'model-x',
    tokens: { input: 9, output: 2 },
    blocks: [{ kind: 'call', id: 't1', name: 'Bash', input: { command: 'ls' } }],
  });
  const picture: Block = { kind: 'image', mediaType: 'image/png', ref: reference };
  expect(result?.blocks).toEqual([
    { kind: 'result', id: 't1', failed: false, text: '', ref: reference },
    picture,
  ]);
  const [asked] = await showSession('codex');
  expect(asked?.blocks[1]).toEqual(picture);
});

it('shows a reference as text where no value was replaced, and a mark as a mark', () => {
  const text = `blob:sha256:${'a'.repeat(64)}`;
  const payload = { role: 'user', records: [{ role: 'user', content: text }] };
  expect(showPayload(payload, 'import.jsonl.message').blocks).toEqual([{ kind: 'text', text }]);
  const mark = { at: 5, kind: 'compaction', summary: 'in short', records: [{}] };
  expect(showPayload(mark, 'import.codex.marker')).toEqual({
    role: 'system',
    at: 5,
    blocks: [{ kind: 'marker', label: 'compaction', text: 'in short' }],
  });
});

it('knows every source', () => {
  expect(Object.keys(SHOWS)).toEqual(SOURCES.map(({ name }) => name));
});
