import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { importHistory } from '../../src/import/import-history.ts';
import { claudeCode } from '../../src/import/sources/claude-code.ts';
import { openStore } from '../../src/open-store.ts';
import { scratchFolder } from '../support/scratch-folder.ts';
import { digest, killImports } from './kill-rig.ts';
import { contextsOf, createScene } from './rig.ts';

it('goes on after a kill without losing or doubling a turn', { timeout: 120_000 }, async () => {
  expect(await killImports(3, Math.random)).toEqual([]);
});

// The rig would not notice a fault that the digest does not show.
it('has a digest that shows a doubled turn', async () => {
  const folder = await mkdtemp(join(scratchFolder(), 'quipu-digest-'));
  const scene = await createScene();
  await scene.write('projects/-w/s1.jsonl', [
    { type: 'user', uuid: 'u1', parentUuid: null, message: { content: 'hi' } },
  ]);
  const place = join(folder, 'store');
  const store = await openStore(place);
  await importHistory(store, claudeCode, { place: scene.home });
  await store.close();
  const before = await digest(place);
  expect(await digest(place)).toBe(before);
  const broken = await openStore(place);
  const [context] = await contextsOf(broken, claudeCode);
  const turn = (await broken.contexts.last(context!.id, 1)).turns[0]!;
  await broken.contexts.append(context!.id, { type: turn.type, payload: turn.payload });
  await broken.close();
  expect(await digest(place)).not.toBe(before);
  await rm(folder, { recursive: true, force: true });
});
