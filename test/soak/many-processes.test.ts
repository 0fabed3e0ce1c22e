import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import { projectPath } from '../support/project.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

/*
 * Invariant: fifty processes that open one store at the same moment, while others keep every processor busy, all get
 * in, and what each of them appends is there.
 */

const PROCESSES = 50;

it('opens a store for any number of processes', { timeout: 600_000 }, async () => {
  const folder = freshFolder('quipu-many-');
  const busy = Array.from({ length: cpus().length }, () =>
    fork(projectPath('test/soak/busy-process.mjs')),
  );
  onTestFinished(() => busy.forEach((child) => void child.kill('SIGKILL')));
  const openers = Array.from({ length: PROCESSES }, () =>
    fork(projectPath('test/soak/opening-process.mjs'), [
      join(folder, 'store'),
      projectPath('dist/index.js'),
    ]),
  );
  const codes = await Promise.all(
    openers.map(async (child) => (await once(child, 'exit'))[0] as unknown),
  );
  expect(codes).toEqual(openers.map(() => 0));
  await using store = await openStore(join(folder, 'store'));
  expect(await store.maintain.stats()).toMatchObject({ contexts: PROCESSES, turns: PROCESSES });
});
