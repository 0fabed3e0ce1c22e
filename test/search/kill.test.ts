import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import { ask, idsOf } from '../../src/testing/search-suite/fixture.ts';
import { projectPath } from '../support/project.ts';

/*
 * Invariant: wherever a process is killed while it indexes, the index catches up, and has each turn once.
 */
it('an index catches up wherever its process is killed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quipu-search-kill-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const script = projectPath('test/postgres/search-worker.mjs');
  for (const word of ['first', 'second', 'third']) {
    const child = spawn(process.execPath, [script, folder, word], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    await sleep(Math.random() * 60);
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  const store = await openStore(folder);
  onTestFinished(() => store.close());
  const { turns } = await store.maintain.stats();
  const found = await idsOf(store, 'first OR second OR third', { limit: 100 });
  expect(found).toHaveLength(turns);
  expect(new Set(found).size).toBe(turns);
  expect((await ask(store, 'first')).index.documents).toBe(turns);
});
