import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
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

  it('give four processes ids of their own', async () => {
    const { store, folder } = await rig();
    expect(await workTogether(store, join(folder, 'store'), { workers: 4, each: 25 })).toBe(0);
  });
});
