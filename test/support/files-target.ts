import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { Engine } from '../../src/engine/engine.ts';
import {
  type FilesEngineOptions,
  openFilesEngine,
} from '../../src/engine/files/open-files-engine.ts';
import { createStore } from '../../src/store/create-store.ts';
import { filesIn } from '../health/files-in.ts';
import type { StoreTarget } from '../../src/testing/store-suite/store-target.ts';

/** Stores in folders that go with the file of tests. Power cuts are not the subject. */
export function filesTarget(options: FilesEngineOptions = {}): StoreTarget {
  const root = mkdtempSync(join(tmpdir(), 'quipu-stores-'));
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  const folders = new WeakMap<Engine, string>();
  let count = 0;
  return {
    name: 'files',
    async open(opening = {}) {
      const folder = join(root, String((count += 1)));
      const engine = await openFilesEngine(folder, {
        durability: 'unsafe',
        ...options,
        ...opening,
      });
      folders.set(engine, folder);
      return { engine, store: createStore(engine, opening) };
    },
    async openBeside({ engine }, opening = {}) {
      return { engine, store: createStore(engine, opening) };
    },
    async stored({ engine }) {
      return filesIn(folders.get(engine) ?? '');
    },
    async spoilLine({ engine }, log, line) {
      const file = join(folders.get(engine) ?? '', log);
      const lines = readFileSync(file, 'utf8').split('\n');
      writeFileSync(file, lines.with(line, 'x'.repeat(lines[line]!.length)).join('\n'));
    },
  };
}
