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
  /** The arguments of Node that build into the folder named after them. */
  readonly command: readonly string[];
  readonly project: string;
  readonly output: string;
  /** Folders whose sources count, besides `src`. */
  readonly folders: readonly string[];
}

const PACKAGE: Build = {
  command: [projectPath('scripts/build.mjs')],
  project: 'tsconfig.build.json',
  output: 'dist',
  folders: [],
};
const RIG_PROJECT = 'test/crash/tsconfig.rig.json';
const RIGS: Build = {
  command: [
    projectPath('node_modules/typescript/bin/tsc'),
    '-p',
    projectPath(RIG_PROJECT),
    '--outDir',
  ],
  project: RIG_PROJECT,
  // Here the test runner leaves imports to Node.
  output: 'node_modules/.quipu-rigs',
  folders: ['test/crash'],
};
const STAMP_NAME = '.built';
const LOCK = projectPath('node_modules/.quipu-build');
const LOCK_STALE_MS = 180_000;

/**
 * Runs once before all tests. Tests of the command line and of the documents use the built package,
 * and the long rigs are run as plain JavaScript, so both are built when a source is newer. Types that
 * do not fit are not reported here but by the check test, as one failure among the others.
 */
export async function setup(): Promise<void> {
  await takeLock();
  try {
    for (const build of [PACKAGE, RIGS]) if (isStale(build)) make(build);
    if (isPageStale()) makePage();
  } finally {
    rmSync(LOCK, { recursive: true, force: true });
  }
}

/** The compiled form of the rig `test/crash/<name>.ts`. */
export function compiledRig(name: string): string {
  return projectPath(`${RIGS.output}/test/crash/${name}.js`);
}

/** The page is built in its own folder, as a whole and at once. */
function makePage(): void {
  const vite = projectPath('node_modules/vite/bin/vite.js');
  spawnSync(process.execPath, [vite, 'build', '--config', projectPath('vite.web.config.ts')]);
}

function isPageStale(): boolean {
  const builtAt = mtimeOf(projectPath('web/dist/index.html'));
  const sources = ['src', 'web/src'].flatMap((root) =>
    listFiles(root, /(?<!\.test)\.(?:tsx?|css)$/),
  );
  return [...sources, 'web/index.html'].some((source) => mtimeOf(projectPath(source)) > builtAt);
}

function make({ command, output }: Build): void {
  const target = projectPath(output);
  const fresh = `${target}.new`;
  const old = `${target}.old`;
  const startedAt = new Date();
  try {
    mkdirSync(fresh, { recursive: true });
    spawnSync(process.execPath, [...command, fresh]);
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
  return [...sources, 'tsconfig.json', 'scripts/build.mjs', project].some(
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
