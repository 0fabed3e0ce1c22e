import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { exportHistory } from '../../src/import/out/export-history.ts';
import type { ExportFormat } from '../../src/import/out/export-history.ts';
import { SOURCES } from '../../src/import/sources/all-sources.ts';
import { claudeCode } from '../../src/import/sources/claude-code.ts';
import { codex } from '../../src/import/sources/codex.ts';
import { pi } from '../../src/import/sources/pi.ts';
import type { Source } from '../../src/import/source/source.ts';
import type { Store } from '../../src/store/store.ts';
import { contextsOf, createScene, showAll } from './rig.ts';

const THREAD = '11111111-1111-4111-8111-111111111111';
const PICTURE = Buffer.alloc(3000, 7).toString('base64');
const OUTPUT = 'a line of output\n'.repeat(8000);

const CLAUDE = [
  {
    type: 'user',
    uuid: 'u1',
    parentUuid: null,
    cwd: '/w',
    timestamp: '2026-01-01T00:00:01Z',
    message: {
      role: 'user',
      content: [
        { type: 'text', text: 'look' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE } },
      ],
    },
  },
  {
    type: 'assistant',
    uuid: 'a1',
    parentUuid: 'u1',
    timestamp: '2026-01-01T00:00:02Z',
    message: {
      id: 'm1',
      model: 'x',
      content: [{ type: 'text', text: 'ok' }],
      usage: { input_tokens: 5, output_tokens: 2 },
    },
  },
  {
    type: 'assistant',
    uuid: 'a2',
    parentUuid: 'a1',
    timestamp: '2026-01-01T00:00:03Z',
    message: {
      id: 'm1',
      model: 'x',
      content: [{ type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'ls' } }],
      usage: { input_tokens: 5, output_tokens: 9 },
    },
  },
  { type: 'progress', uuid: 'p1', parentUuid: 'a2', data: { z: 1, a: 2 } },
  {
    type: 'user',
    uuid: 'u2',
    parentUuid: 'p1',
    timestamp: '2026-01-01T00:00:04Z',
    message: {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 't1', content: OUTPUT }],
    },
  },
  {
    type: 'from-the-future',
    uuid: 'x1',
    parentUuid: 'u2',
    deep: { list: [1.0, 'blob:sha256:' + '0'.repeat(64)] },
  },
  {
    type: 'user',
    uuid: 'u3',
    parentUuid: 'x1',
    timestamp: '2026-01-01T00:00:05Z',
    message: { role: 'user', content: 'thanks \u2028 <b>&</b>' },
  },
];
const CODEX = [
  { timestamp: '2026-01-01T00:00:00Z', type: 'session_meta', payload: { id: THREAD, cwd: '/w' } },
  {
    timestamp: '2026-01-01T00:00:01Z',
    type: 'turn_context',
    payload: { cwd: '/w', model: 'model-x' },
  },
  {
    timestamp: '2026-01-01T00:00:02Z',
    type: 'response_item',
    payload: {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'hi' },
        { type: 'input_image', image_url: `data:image/png;base64,${PICTURE}` },
      ],
    },
  },
  {
    timestamp: '2026-01-01T00:00:02Z',
    type: 'event_msg',
    payload: { type: 'user_message', message: 'hi' },
  },
  {
    timestamp: '2026-01-01T00:00:03Z',
    type: 'response_item',
    payload: { type: 'function_call', call_id: 'c1', name: 'shell', arguments: '{"cmd":"ls"}' },
  },
  {
    timestamp: '2026-01-01T00:00:04Z',
    type: 'response_item',
    payload: { type: 'function_call_output', call_id: 'c1', output: OUTPUT },
  },
  {
    timestamp: '2026-01-01T00:00:05Z',
    type: 'compacted',
    payload: {
      message: 'so far',
      replacement_history: [{ image_url: `data:image/png;base64,${PICTURE}` }],
    },
  },
  {
    timestamp: '2026-01-01T00:00:06Z',
    type: 'response_item',
    payload: {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'done' }],
    },
  },
];
const PI = [
  { type: 'session', version: 3, id: 's1', timestamp: '2026-01-01T00:00:00Z', cwd: '/w' },
  {
    type: 'message',
    id: '00000001',
    parentId: null,
    timestamp: '2026-01-01T00:00:01Z',
    message: {
      role: 'user',
      content: [
        { type: 'text', text: 'hi' },
        { type: 'image', data: PICTURE, mimeType: 'image/png' },
      ],
    },
  },
  { type: 'model_change', id: '00000002', parentId: '00000001', provider: 'p', modelId: 'x' },
  {
    type: 'message',
    id: '00000003',
    parentId: '00000002',
    timestamp: '2026-01-01T00:00:02Z',
    message: {
      role: 'assistant',
      content: [{ type: 'toolCall', id: 'c1', name: 'bash', arguments: { command: 'ls' } }],
      provider: 'p',
      model: 'x',
    },
  },
  {
    type: 'message',
    id: '00000004',
    parentId: '00000003',
    timestamp: '2026-01-01T00:00:03Z',
    message: {
      role: 'toolResult',
      toolCallId: 'c1',
      toolName: 'bash',
      content: [{ type: 'text', text: OUTPUT }],
      isError: false,
    },
  },
];
const CASES: readonly (readonly [Source, string, readonly object[]])[] = [
  [claudeCode, `projects/-w/${THREAD}.jsonl`, CLAUDE],
  [codex, `sessions/rollout-2026-01-01T00-00-00-${THREAD}.jsonl`, CODEX],
  [pi, '--w--/2026-01-01T00-00-00-000Z_s1.jsonl', PI],
];

async function exported(store: Store, source: Source, as: ExportFormat): Promise<string> {
  const [context] = await contextsOf(store, source);
  let text = '';
  for await (const piece of exportHistory(store, context!.id, as, SOURCES)) text += piece;
  return text;
}

describe.each(CASES)('a session of $name', (source, name, records) => {
  it('comes out as it came in, record by record', async () => {
    const scene = await createScene();
    const path = await scene.write(name, records);
    await scene.run(source);
    const text = await exported(scene.store, source, source.name as ExportFormat);
    const sorted = (lines: string): string[] => lines.trimEnd().split('\n').toSorted();
    expect(sorted(text)).toEqual(sorted(await readFile(path, 'utf8')));

    const again = await createScene();
    await again.write(name, text);
    await again.run(source);
    expect(await showAll(again.store, source)).toEqual(await showAll(scene.store, source));
    const before = await scene.store.contexts.last(
      (await contextsOf(scene.store, source))[0]!.id,
      99,
    );
    const after = await again.store.contexts.last(
      (await contextsOf(again.store, source))[0]!.id,
      99,
    );
    expect(after.turns.map(({ payloadHash }) => payloadHash)).toEqual(
      before.turns.map(({ payloadHash }) => payloadHash),
    );
  });

  it('goes on in other agents', async () => {
    const scene = await createScene();
    await scene.write(name, records);
    await scene.run(source);
    for (const [other, file] of CASES) {
      if (other === source) continue;
      const there = await createScene();
      await there.write(file, await exported(scene.store, source, other.name as ExportFormat));
      const report = await there.run(other);
      expect(report).toMatchObject({ bad: 0, unlinked: 0, forks: 0 });
      const page = await exported(there.store, other, 'markdown');
      for (const part of ['Call `', 'a line of output', `data:image/png;base64,${PICTURE}`]) {
        expect(page).toContain(part);
      }
    }
  });

  it('is a page without scripts, with its pictures inside', async () => {
    const scene = await createScene();
    await scene.write(name, records);
    await scene.run(source);
    const html = await exported(scene.store, source, 'html');
    expect(html).toContain(`src="data:image/png;base64,${PICTURE}"`);
    expect(html).not.toMatch(/<script|<b>|https?:/);
    const markdown = await exported(scene.store, source, 'markdown');
    expect(markdown).toMatch(/^# /);
    expect(markdown).toContain('a line of output');
  });
});
