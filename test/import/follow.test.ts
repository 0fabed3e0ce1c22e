import { appendFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { followHistory } from '../../src/import/import-history.ts';
import { claudeCode } from '../../src/import/sources/claude-code.ts';
import { pi } from '../../src/import/sources/pi.ts';
import type { Source } from '../../src/import/source/source.ts';
import { PATIENCE } from '../../src/testing/patience.ts';
import { undisturbed } from '../support/undisturbed.ts';
import { createScene, showAll, toLines } from './rig.ts';
import type { Scene } from './rig.ts';

// A store that follows a home has, in the end, what the files had, each record once.

function follow(scene: Scene, source: Source, quietMs = 300): () => Promise<unknown> {
  const ending = new AbortController();
  const following = followHistory(scene.store, source, {
    place: scene.home,
    signal: ending.signal,
    pollMs: 100,
    quietMs,
  });
  onTestFinished(() => ending.abort());
  return async () => {
    ending.abort();
    await following;
  };
}

const header = { type: 'session', version: 3, id: 's1', cwd: '/w' };
const entry = (n: number): object => ({
  type: 'message',
  id: `e${n}`,
  parentId: n === 0 ? null : `e${n - 1}`,
  message: { role: 'user', content: `text ${n}` },
});
const texts = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => `user: text ${n}`);
const turns = async (scene: Scene, source: Source): Promise<unknown[]> =>
  (await showAll(scene.store, source)).map((shown) => shown['turns']);

it('follows a writer that appends byte by byte, renames and truncates', async () => {
  const scene = await createScene();
  const file = '--w--/2026-01-01T00-00-00-000Z_s1.jsonl';
  const path = await scene.write(file, '');
  const stop = follow(scene, pi);
  const bytes = Buffer.from(toLines([header, entry(0), entry(1)]));
  for (let at = 0; at < bytes.length; at += 3) {
    await appendFile(path, bytes.subarray(at, at + 3));
    if (at % 30 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await vi.waitFor(async () => expect(await turns(scene, pi)).toEqual([texts(2)]), PATIENCE);
  const moved = join(scene.home, '--w--/2026-01-02T00-00-00-000Z_s1.jsonl');
  await rename(path, moved);
  await appendFile(moved, toLines([entry(2)]));
  await vi.waitFor(async () => expect(await turns(scene, pi)).toEqual([texts(3)]), PATIENCE);
  await writeFile(moved, toLines([header, entry(0)]));
  await appendFile(moved, toLines([1, 2, 3].map(entry)));
  await vi.waitFor(async () => expect(await turns(scene, pi)).toEqual([texts(4)]), PATIENCE);
  await stop();
});

it(
  'takes a message of several lines as one, however slowly they come',
  // A message counts as whole when its next line takes longer than a second and a half.
  undisturbed(1000, async () => {
    const scene = await createScene();
    const line = (uuid: string, parentUuid: string | null, fields: object): object => ({
      uuid,
      parentUuid,
      ...fields,
    });
    const part = (id: string, text: string): object => ({
      type: 'assistant',
      message: { id, model: 'x', content: [{ type: 'text', text }] },
    });
    const path = await scene.write('projects/-w/s1.jsonl', [
      line('u1', null, { type: 'user', message: { content: 'hi' } }),
    ]);
    const stop = follow(scene, claudeCode, 1500);
    for (const [index, text] of ['one', 'two', 'three'].entries()) {
      await appendFile(
        path,
        toLines([line(`a${index}`, index === 0 ? 'u1' : `a${index - 1}`, part('m1', text))]),
      );
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    await vi.waitFor(
      async () =>
        expect(await turns(scene, claudeCode)).toEqual([
          ['user: hi', 'assistant: one | two | three'],
        ]),
      PATIENCE,
    );
    await stop();
  }),
);
