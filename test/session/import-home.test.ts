import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import { scratchFolder } from '../support/scratch-folder.ts';

it('takes a session of another program with its artifacts and blobs, and goes on there', async () => {
  const folder = await mkdtemp(join(scratchFolder(), 'quipu-home-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const sessions = join(folder, 'agent/sessions/-w');
  const name = '2026-01-01T00-00-00-000Z_s1';
  await mkdir(join(sessions, name), { recursive: true });
  await mkdir(join(folder, 'agent/blobs'));
  const picture = Buffer.from('a picture');
  const sha256 = createHash('sha256').update(picture).digest('hex');
  await writeFile(join(folder, 'agent/blobs', sha256), picture);
  await writeFile(join(folder, 'agent/blobs', '0'.repeat(64)), 'nobody refers to it');
  await writeFile(join(sessions, name, '0.bash.log'), 'output');
  const image = { type: 'image', data: `blob:sha256:${sha256}`, mimeType: 'image/png' };
  const lines = [
    { type: 'session', version: 3, id: 's1', timestamp: '2026-01-01T00:00:00.000Z', cwd: '/w' },
    {
      type: 'message',
      id: '1',
      parentId: null,
      timestamp: '2026-01-01T00:00:01.000Z',
      message: { role: 'user', content: [image] },
    },
  ];
  const file = join(sessions, `${name}.jsonl`);
  await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  await using store = await openStore(join(folder, 'store'));
  await using session = await store.sessions.import(file);
  expect(session.id).toBe('s1');
  await session.append({ type: 'note' });
  expect((await session.load()).entries).toHaveLength(2);
  expect((await session.resolve('artifact://0')).content).toContain('output');
  expect(await store.blobs.has(`blob:sha256:${sha256}`)).toBe(true);
  await expect(store.sessions.import(join(folder, 'agent'))).rejects.toMatchObject({
    code: 'INVALID',
  });
  await expect(store.sessions.import(join(folder, 'nothing'))).rejects.toMatchObject({
    code: 'INVALID',
  });
});
