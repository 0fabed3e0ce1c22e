import { describe, expect, it } from 'vitest';
import { omp, pi } from '../../src/import/sources/pi.ts';
import { createScene, showAll } from './rig.ts';

const FILE = '--w--/2026-01-01T00-00-00-000Z_s1.jsonl';
const HEADER = { type: 'session', version: 3, id: 's1', cwd: '/w' };
const said = (text: string): object => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  provider: 'p',
  model: 'x',
  usage: { input: 3, output: 4, cacheRead: 5, cacheWrite: 6 },
  stopReason: 'stop',
});
const entry = (id: string, parentId: string | null, fields: object): object => ({
  id,
  parentId,
  timestamp: `2026-01-01T00:00:00.0${id.slice(-2)}Z`,
  type: 'message',
  ...fields,
});
const TREE = [
  HEADER,
  entry('00000001', null, { message: { role: 'user', content: 'hi' } }),
  entry('00000002', '00000001', { type: 'model_change', provider: 'p', modelId: 'x' }),
  entry('00000003', '00000002', { message: said('one') }),
  entry('00000004', '00000002', { message: said('two') }),
];
const LATER = [
  entry('00000005', '00000004', {
    message: {
      role: 'toolResult',
      toolCallId: 'c1',
      toolName: 'bash',
      content: [{ type: 'text', text: 'a.txt' }],
      isError: false,
    },
  }),
  entry('00000006', '00000005', {
    type: 'compaction',
    summary: 'greeting',
    firstKeptEntryId: '00000004',
  }),
  entry('00000007', '00000006', {
    type: 'compaction',
    summary: 'again',
    retainedTail: [{ role: 'user', content: 'hi' }],
  }),
  entry('00000009', '00000001', { type: 'branch_summary', fromId: '00000007', summary: 'left' }),
  entry('0000000a', '00000009', { type: 'title_change', title: 'Hello', source: 'auto' }),
];
const turnsOf = (shown: readonly Record<string, unknown>[]): unknown[] =>
  shown.map(({ turns }) => turns);

describe('a session of pi', () => {
  it('is a tree: the newest entry is on the main branch', async () => {
    const scene = await createScene();
    await scene.write(FILE, TREE);
    expect(await scene.run(pi)).toMatchObject({ turns: 3, forks: 1 });
    expect(await showAll(scene.store, pi)).toMatchObject([
      { title: 'hi', meta: { model: 'p/x', cwd: '/w' }, turns: ['user: hi', 'assistant: two'] },
      { base: 'depth 1', turns: ['user: hi', 'assistant: one'] },
    ]);
  });

  it('goes on where the file ended, and keeps every branch', async () => {
    const scene = await createScene();
    await scene.write(FILE, TREE);
    await scene.run(pi);
    await scene.write(FILE, [...TREE, ...LATER]);
    expect(await scene.run(pi)).toMatchObject({ turns: 4, forks: 1, blobs: 1 });
    expect(turnsOf(await showAll(scene.store, pi))).toEqual([
      ['user: hi', 'marker branch: left'],
      ['user: hi', 'assistant: one'],
      [
        'user: hi',
        'assistant: two',
        'tool: result a.txt',
        'marker compaction: greeting',
        'marker compaction: again',
      ],
    ]);
  });

  it('links entries of version 1, which have no ids, in their order', async () => {
    const scene = await createScene();
    await scene.write(FILE, [
      {
        type: 'session',
        id: 's1',
        timestamp: '2025-01-01T00:00:00Z',
        cwd: '/w',
        provider: 'p',
        modelId: 'x',
      },
      { type: 'message', message: { role: 'user', content: 'hi' } },
      { type: 'message', message: said('ok') },
      { type: 'message', message: { role: 'user', content: 'hi' } },
    ]);
    await scene.run(pi);
    expect(turnsOf(await showAll(scene.store, pi))).toEqual([
      ['user: hi', 'assistant: ok', 'user: hi'],
    ]);
    await scene.write(FILE, `${JSON.stringify(HEADER)}\n`);
    expect(await scene.run(pi)).toMatchObject({ turns: 0 });
  });

  it('is read in version 4, too', async () => {
    const scene = await createScene();
    await scene.write(FILE, [
      { kind: 'header', version: 4, id: 's1', createdAt: 1767225600000, cwd: '/w' },
      {
        kind: 'entry',
        lane: 'main',
        seq: 1,
        ...entry('e1', null, { message: { role: 'user', content: 'hi' } }),
      },
      { kind: 'lane', lane: 'main', leafId: 'e1' },
      { kind: 'fact', name: 'Named' },
    ]);
    await scene.run(pi);
    expect(await showAll(scene.store, pi)).toMatchObject([{ title: 'Named', turns: ['user: hi'] }]);
  });

  it('shares its turns with a session that began as its copy, whichever is read first', async () => {
    for (const [first, second] of [
      ['s1', 's2'],
      ['s2', 's1'],
    ] as const) {
      const scene = await createScene();
      const copy = [
        { ...HEADER, id: 's2', parentSession: 's1' },
        ...TREE.slice(1, 4),
        entry('0000000b', '00000003', { message: { role: 'user', content: 'more' } }),
      ];
      const files = { s1: TREE, s2: copy };
      for (const [index, id] of [first, second].entries()) {
        await scene.write(`--w--/2026-01-0${index + 1}T00-00-00-000Z_${id}.jsonl`, files[id]);
      }
      const { turns } = await scene.run(pi);
      expect(turnsOf(await showAll(scene.store, pi))).toContainEqual([
        'user: hi',
        'assistant: one',
        'user: more',
      ]);
      expect(turns).toBe(4);
    }
  });
});

describe('a session of oh-my-pi', () => {
  it('has its blobs, its title and its subagents', async () => {
    const scene = await createScene();
    const bytes = Buffer.from('picture');
    const { createHash } = await import('node:crypto');
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    await scene.write(`blobs/${sha256}`, 'picture');
    const name = '2026-01-01T00-00-00-000Z_s1';
    await scene.write(`sessions/-w/${name}.jsonl`, [
      { type: 'title', v: 1, title: 'Pictures', source: 'user', pad: '   ' },
      HEADER,
      entry('00000001', null, {
        message: {
          role: 'user',
          content: [{ type: 'image', data: `blob:sha256:${sha256}`, mimeType: 'image/png' }],
        },
      }),
      entry('00000002', '00000001', { type: 'credential_pin', secret: 'sk-1' }),
    ]);
    await scene.write(`sessions/-w/${name}/Scout.jsonl`, [
      { ...HEADER, id: 'x' },
      entry('00000001', null, { message: { role: 'user', content: 'look' } }),
    ]);
    expect(await scene.run(omp)).toMatchObject({ turns: 2, blobs: 1, sessions: 2 });
    expect(await showAll(scene.store, omp)).toMatchObject([
      { title: 'Pictures', turns: [`user: image image/png blob:sha256:${sha256.slice(0, 12)}`] },
      { meta: { parent: { session: 's1', context: 'context 1' } }, turns: ['user: look'] },
    ]);
    expect(await scene.store.blobs.has(`blob:sha256:${sha256}`)).toBe(true);
    await scene.store.maintain.gc({ graceMs: 0 });
    expect(await scene.store.blobs.has(`blob:sha256:${sha256}`)).toBe(true);
  });
});
