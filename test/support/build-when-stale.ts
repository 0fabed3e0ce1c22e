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

interface Build {
  readonly project: string;
  readonly output: string;
  /** Folders whose sources count, besides `src`. */
  readonly folders: readonly string[];
}

const PACKAGE: Build = { project: 'tsconfig.build.json', output: 'dist', folders: [] };
const RIGS: Build = {
  project: 'test/crash/tsconfig.rig.json',
  // Here the test runner leaves imports to Node.
  output: 'node_modules/.quipu-rigs',
  folders: ['test/crash'],
};
const STAMP_NAME = '.built';
const LOCK = projectPath('node_modules/.quipu-build');
const LOCK_STALE_MS = 60_000;

/**
 * Runs once before all tests. Tests of the command line and of the documents use the built package,
 * and the long rigs are run as plain JavaScript, so both are built when a source is newer. Types that
 * do not fit are not reported here but by the check test, as one failure among the others.
 */
export async function setup(): Promise<void> {
  await takeLock();
  try {
    for (const build of [PACKAGE, RIGS]) if (isStale(build)) make(build);
  } finally {
    rmSync(LOCK, { recursive: true, force: true });
  }
}

/** The compiled form of the rig `test/crash/<name>.ts`. */
export function compiledRig(name: string): string {
  return projectPath(`${RIGS.output}/test/crash/${name}.js`);
}

function make({ project, output }: Build): void {
  const target = projectPath(output);
  const fresh = `${target}.new`;
  const old = `${target}.old`;
  const startedAt = new Date();
  try {
    const tsc = projectPath('node_modules/typescript/bin/tsc');
    mkdirSync(fresh, { recursive: true });
    spawnSync(process.execPath, [tsc, '-p', projectPath(project), '--outDir', fresh]);
    // A source saved while the compiler ran must count as newer.
    writeFileSync(join(fresh, STAMP_NAME), '');
    utimesSync(join(fresh, STAMP_NAME), startedAt, startedAt);
    // Swapped as a whole: a test of another run that uses the output never sees half of it.
    if (existsSync(target)) renameSync(target, old);
    renameSync(fresh, target);
  } finally {
    rmSync(old, { recursive: true, force: true });
    rmSync(fresh, { recursive: true, force: true });
  }
}

function isStale({ project, output, folders }: Build): boolean {
  // Installing builds the package and leaves no stamp.
  const builtAt = Math.max(
    ...[STAMP_NAME, 'index.js'].map((name) => mtimeOf(join(projectPath(output), name))),
  );
  const sources = ['src', ...folders].flatMap((folder) => listFiles(folder, /(?<!\.test)\.ts$/));
  return [...sources, 'tsconfig.json', project].some(
    (source) => mtimeOf(projectPath(source)) > builtAt,
  );
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
