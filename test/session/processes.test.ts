import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { projectPath } from '../support/project.ts';
import { useSessionRig } from './rig.ts';
import { killWriters } from './kill-writers.ts';
import { workTogether } from './work-together.ts';

const rig = useSessionRig();
const run = promisify(execFile);

describe('several processes', () => {
  it('put the same bytes in one file, fifty times each', async () => {
    const { folder } = await rig();
    const files = join(folder, 'files');
    const program = `
      import { BlobFiles } from ${JSON.stringify(projectPath('dist/index.js'))};
      const files = new BlobFiles(${JSON.stringify(files)});
      const bytes = Buffer.alloc(200_000, 7);
      const puts = Array.from({ length: 50 }, () => files.put(bytes));
      for (const { hash } of await Promise.all(puts)) {
        if ((await files.get(hash))?.length !== bytes.length) throw new Error('a short read');
      }`;
    const args = ['--input-type=module', '-e', program];
    await Promise.all([run(process.execPath, args), run(process.execPath, args)]);
    const [name, ...others] = readdirSync(files);
    expect(others).toEqual([]);
    const sum = createHash('sha256').update(Buffer.alloc(200_000, 7)).digest('hex');
    expect(name).toBe(sum);
  });
});

describe('several processes on one session', () => {
  it('lose no entry, and get ids of their own', { timeout: 60_000 }, async () => {
    const { store, folder } = await rig();
    expect(await workTogether(store, join(folder, 'store'), { workers: 2, each: 6 })).toBe(0);
  });

  it('may be killed in the middle of it', async () => {
    const { folder } = await rig();
    const place = join(folder, 'killed');
    expect(await killWriters(place, { lines: 8, delayMs: 7 })).toBeGreaterThan(15);
  }, 60_000);
});
