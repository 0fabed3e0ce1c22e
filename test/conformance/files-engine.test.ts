import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { Engine } from '../../src/engine/engine.ts';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { engineSuite } from '../../src/testing/engine-suite/engine-suite.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

const root = freshFolder('quipu-engine-', afterAll);

const folders = new WeakMap<Engine, string>();
let count = 0;

async function openAt(folder: string, opening: { clock?: () => number } = {}): Promise<Engine> {
  const engine = await openFilesEngine(folder, opening);
  folders.set(engine, folder);
  return engine;
}

engineSuite({
  name: 'files',
  capabilities: { reopen: true, reindex: true, backup: true, collection: true, adoption: true },
  open: (opening) => openAt(join(root, String((count += 1))), opening),
  reopen: (engine, opening) => openAt(folders.get(engine) ?? '', opening),
});
