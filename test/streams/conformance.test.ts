import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from 'vitest';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { SUITE, streamConformance } from '../support/stream-conformance.ts';

describe('Durable Streams on a folder', SUITE, () => {
  let folder: string | undefined;
  afterAll(async () => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  streamConformance(async () => {
    folder = await mkdtemp(join(tmpdir(), 'quipu-streams-'));
    return openFilesEngine(folder);
  });
});
