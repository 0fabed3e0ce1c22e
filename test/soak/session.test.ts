import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { giveUpSinks } from '../session/give-up-sinks.ts';
import { killWriters } from '../session/kill-writers.ts';
import { makeLargeSession } from '../session/large-session.ts';
import { useSessionRig } from '../session/rig.ts';
import { workTogether } from '../session/work-together.ts';
import { projectPath } from '../support/project.ts';

const rig = useSessionRig();
const run = promisify(execFile);

describe('sessions', () => {
  it('stay under 2 MB with 200 pictures of 1 MB and 500 outputs, in a store under 25 MB', async () => {
    const { store } = await rig();
    const figures = await makeLargeSession(store, { pictures: 200, distinct: 20, outputs: 500 });
    expect(figures.fileBytes).toBeLessThan(2_000_000);
    expect(figures.storedBytes).toBeLessThan(25_000_000);
    expect(figures.lastMs).toBeLessThan(50);
  });

  it('take a gigabyte of output, and give ten lines of it, in bounded memory', async () => {
    const { folder } = await rig();
    const program = projectPath('test/session/memory.mjs');
    const { stdout } = await run(process.execPath, [program, join(folder, 'apart'), '1024']);
    const { sinkMb, readMb, lines } = JSON.parse(stdout) as Record<string, number>;
    expect(sinkMb).toBeLessThan(64);
    expect(readMb).toBeLessThan(16);
    expect(lines).toBe(12);
  });

  it('are opened, gone on with and read in bounded memory when they take a gigabyte', async () => {
    const { folder } = await rig();
    const program = projectPath('test/session/large-file.mjs');
    const args = ['--expose-gc', program, join(folder, 'apart'), '1024'];
    const { stdout } = await run(process.execPath, args);
    const figures = JSON.parse(stdout) as Record<string, number>;
    expect(figures).toMatchObject({ missing: 0, last: 1 });
    expect(figures['lastMs']).toBeLessThan(50);
    expect(figures['lastMb']).toBeLessThan(32);
    expect(figures['wholeMb']).toBeLessThan(128);
  });

  it('leave nothing open after ten thousand outputs that were given up', async () => {
    const { folder } = await rig();
    expect(await giveUpSinks(folder, 10_000)).toBe(0);
  });

  it('keep what was acknowledged when their processes are killed', async () => {
    const { folder } = await rig();
    for (let round = 0; round < 30; round++) {
      const place = join(folder, `killed${round}`);
      const killing = { lines: 2 + (round % 9) * 5, delayMs: (round * 37) % 50 };
      expect(await killWriters(place, killing)).toBeGreaterThan(2);
    }
  });

  it('give four processes ids of their own', async () => {
    const { store, folder } = await rig();
    expect(await workTogether(store, join(folder, 'store'), { workers: 4, each: 25 })).toBe(0);
  });
});
