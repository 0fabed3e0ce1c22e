import { join } from 'node:path';
import { afterAll } from 'vitest';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { clientSuites } from '../support/client-suites.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

const root = freshFolder('quipu-client-', afterAll);
let count = 0;

clientSuites('a folder', 'unix', (opening) =>
  // What the disk does is tried without a client in between.
  openFilesEngine(join(root, String((count += 1))), { durability: 'unsafe', ...opening }),
);
