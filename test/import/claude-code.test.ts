import { describe, expect, it } from 'vitest';
import { ask } from '../../src/testing/search-suite/fixture.ts';
import { claudeCode } from '../../src/import/sources/claude-code.ts';
import { createScene, showAll } from './rig.ts';

const S1 = '11111111-1111-4111-8111-111111111111';
const FILE = `projects/-w/${S1}.jsonl`;
let clock = 0;
const line = (fields: object): object => {
  clock += 1;
  return {
    ...fields,
    sessionId: S1,
    cwd: '/w',
    timestamp: `2026-01-01T00:00:${String(clock % 60).padStart(2, '0')}.000Z`,
  };
};
const TEXT =
  [
    line({
      type: 'user',
      uuid: 'u1',
      parentUuid: null,
      message: { role: 'user', content: 'list files' },
    }),
    line({
      type: 'assistant',
      uuid: 'a1',
      parentUuid: 'u1',
      requestId: 'r1',
      message: {
        id: 'm1',
        model: 'model-x',
        content: [{ type: 'text', text: 'ok' }],
        stop_reason: null,
      },
    }),
    line({
      type: 'assistant',
      uuid: 'a2',
      parentUuid: 'a1',
      requestId: 'r1',
      message: {
        id: 'm1',
        model: 'model-x',
        content: [{ type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'ls' } }],
        stop_reason: 'tool_use',
      },
    }),
    line({ type: 'progress', uuid: 'p1', parentUuid: 'a2' }),
    line({
      type: 'user',
      uuid: 'u2',
      parentUuid: 'p1',
      message: {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 't1', content: 'a.txt' }],
      },
    }),
  ]
    .map((record) => `${JSON.stringify(record)}\n`)
    .join('') +
  `{"type":"pr-link","sessionId":"s1","prNu` +
  JSON.stringify(
    line({
      type: 'user',
      uuid: 'u3',
      parentUuid: 'u2',
      message: { role: 'user', content: 'thanks' },
    }),
  ) +
  '\n';

describe('a session of Claude Code', () => {
  it('is found by its words and by the time when they were said, and the ledger is not', async () => {
    const scene = await createScene();
    await scene.write(FILE, TEXT);
    await scene.run(claudeCode);
    const found = async (query: string): Promise<unknown[]> =>
      (await ask(scene.store, query)).hits.map(({ kind, role, at }) => [
        kind,
        role,
        new Date(at).toISOString().slice(0, 10),
      ]);
    const hit = ['context', 'user', '2026-01-01'];
    expect(await found('"list files"')).toEqual([hit]);
    expect(await found('"list files" before:2026-01-02')).toEqual([hit]);
    expect(await found('"list files" after:2026-01-02')).toEqual([]);
  });

  it('has a turn for each message, whatever the lines', async () => {
    const scene = await createScene();
    await scene.write(FILE, TEXT);
    const report = await scene.run(claudeCode);
    expect(await showAll(scene.store, claudeCode)).toMatchInlineSnapshot(`
      [
        {
          "base": "none",
          "meta": {
            "cwd": "/w",
            "model": "model-x",
            "session": "11111111-1111-4111-8111-111111111111",
            "source": "claude-code",
          },
          "title": "list files",
          "turns": [
            "user: list files",
            "assistant: ok | call Bash {"command":"ls"}",
            "tool: result a.txt",
            "user: thanks",
          ],
        },
      ]
    `);
    expect(report).toMatchObject({ turns: 4, recovered: 1, bad: 1, asides: 1, sessions: 1 });
    const again = await scene.run(claudeCode);
    expect(again).toMatchObject({ turns: 0, unchanged: 1 });
  });
});
