import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { listFiles, projectPath } from './project.ts';

const DIST = projectPath('dist');
const STAMP_NAME = '.built';
const LOCK = projectPath('node_modules/.quipu-build');
const LOCK_STALE_MS = 60_000;

/**
 * Runs once before all tests. Tests of the command line and of the documents use the built package,
 * so it is built when a source is newer. Types that do not fit are not reported here but by the
 * check test, as one failure among the others.
 */
export async function setup(): Promise<void> {
  await takeLock();
  try {
    if (!isStale()) return;
    const startedAt = new Date();
    const fresh = projectPath('dist.new');
    const tsc = projectPath('node_modules/typescript/bin/tsc');
    const project = projectPath('tsconfig.build.json');
    mkdirSync(fresh, { recursive: true });
    spawnSync(process.execPath, [tsc, '-p', project, '--outDir', fresh]);
    // A source saved while the compiler ran must count as newer.
    writeFileSync(join(fresh, STAMP_NAME), '');
    utimesSync(join(fresh, STAMP_NAME), startedAt, startedAt);
    // Swapped as a whole: a test of another run that uses the package never sees half of it.
    if (existsSync(DIST)) renameSync(DIST, projectPath('dist.old'));
    renameSync(fresh, DIST);
  } finally {
    rmSync(projectPath('dist.old'), { recursive: true, force: true });
    rmSync(projectPath('dist.new'), { recursive: true, force: true });
    rmSync(LOCK, { recursive: true, force: true });
  }
}

function isStale(): boolean {
  const builtAt = mtimeOf(join(DIST, STAMP_NAME));
  const sources = [...listFiles('src', /(?<!\.test)\.ts$/), 'tsconfig.json', 'tsconfig.build.json'];
  return sources.some((source) => mtimeOf(projectPath(source)) > builtAt);
}

function mtimeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Two runs at once must not write the same output. A folder is made by one of them only. */
async function takeLock(): Promise<void> {
  for (;;) {
    try {
      mkdirSync(LOCK);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    if (Date.now() - mtimeOf(LOCK) > LOCK_STALE_MS) rmSync(LOCK, { recursive: true, force: true });
    await setTimeout(100);
  }
}
