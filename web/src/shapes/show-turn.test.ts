import fc from 'fast-check';
import { expect, it } from 'vitest';
import { showPayload, summaryOf } from './show-turn.ts';

it.each([
  ['a chat message', { role: 'user', text: 'hi' }, 'chat.message', 'user', 'hi'],
  [
    'Anthropic parts',
    { role: 'assistant', content: [{ type: 'text', text: 'hi' }] },
    'm',
    'assistant',
    'hi',
  ],
  ['OpenAI text', { role: 'developer', content: 'hi' }, 'm', 'system', 'hi'],
  ['a UI message', { role: 'user', parts: [{ type: 'text', text: 'hi' }] }, 'm', 'user', 'hi'],
  [
    'Claude Code',
    { type: 'user', message: { role: 'user', content: 'hi' } },
    'import.claude-code.message',
    'user',
    'hi',
  ],
  [
    'Codex',
    {
      type: 'response_item',
      payload: {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'hi' }],
      },
    },
    'import.codex.message',
    'assistant',
    'hi',
  ],
  [
    'a Gemini record',
    { type: 'gemini', content: 'hi' },
    'import.gemini.message',
    'assistant',
    'hi',
  ],
  ['plain text', 'hi', 'note', 'other', 'hi'],
] as const)('shows %s', (...[, payload, type, role, text]) => {
  const shown = showPayload(payload, type);
  expect(shown.role).toBe(role);
  expect(summaryOf(shown)).toBe(text);
});

it('shows calls and results of every provider as calls and results', () => {
  const call = { kind: 'call', id: 'c1', name: 'Bash', input: { command: 'ls' } };
  const shown = [
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'c1', name: 'Bash', input: { command: 'ls' } }],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', function: { name: 'Bash', arguments: '{"command":"ls"}' } }],
    },
    {
      type: 'response_item',
      payload: {
        type: 'function_call',
        call_id: 'c1',
        name: 'Bash',
        arguments: '{"command":"ls"}',
      },
    },
    {
      role: 'assistant',
      content: [{ type: 'toolCall', id: 'c1', name: 'Bash', arguments: { command: 'ls' } }],
    },
  ].map((payload) => showPayload(payload, 'm').blocks);
  for (const blocks of shown) expect(blocks).toEqual([call]);
  const result = { kind: 'result', id: 'c1', text: 'a\nb', failed: false };
  const results = [
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: 'a\nb' }] },
      ],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'a\nb' },
    {
      type: 'response_item',
      payload: { type: 'function_call_output', call_id: 'c1', output: 'a\nb' },
    },
  ].map((payload) => showPayload(payload, 'm').blocks);
  for (const blocks of results) expect(blocks).toEqual([result]);
});

it('reads figures and models of messages', () => {
  const message = {
    role: 'assistant',
    content: 'x',
    model: 'm-1',
    usage: { input_tokens: 5, output_tokens: 7 },
  };
  expect(showPayload({ type: 'assistant', message }, 't')).toMatchObject({
    model: 'm-1',
    tokens: { input: 5, output: 7 },
  });
});

it('takes pictures from blobs and data, and never from an address', () => {
  const of = (source: object): unknown =>
    showPayload({ role: 'user', content: [{ type: 'image', source }] }, 'm').blocks[0];
  const ref = `blob:sha256:${'a'.repeat(64)}`;
  expect(of({ media_type: 'image/png', data: ref })).toEqual({
    kind: 'image',
    mediaType: 'image/png',
    ref,
  });
  expect(of({ media_type: 'image/png', data: 'aGk=' })).toMatchObject({ base64: 'aGk=' });
  expect(of({ url: 'https://example.com/track.png' })).toMatchObject({ kind: 'marker' });
});

it('shows something for every payload, and throws for none', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.string(), (payload, type) => {
      const shown = showPayload(payload, type);
      expect(typeof summaryOf(shown)).toBe('string');
      expect(shown.blocks.length + Number(shown.role !== 'other')).toBeGreaterThan(0);
    }),
  );
});
