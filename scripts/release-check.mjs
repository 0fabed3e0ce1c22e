// `npm run release:check`: everything that must be true before a version is published. It publishes nothing.
//
// The steps run in order and stop at the first that fails. Nodes that the tests do not bring are fetched from npm.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
/** Node 20 runs the tests, and Node 24 comes with them. */
const MORE_NODES = ['22', '26'];

/** Returns what the command printed, if `print` is false. */
function run(command, args, { print = true, env = {} } = {}) {
  const { status, error, stdout } = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', print ? 'inherit' : 'pipe', 'inherit'],
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  if (error !== undefined) throw new Error(`"${command}" did not start: ${error.message}`);
  if (status !== 0) throw new Error(`"${command} ${args.join(' ')}" failed`);
  return stdout;
}

function checkTree() {
  if (run('git', ['status', '--porcelain'], { print: false }) !== '') {
    throw new Error('commit your changes first');
  }
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const heading = changelog.split('\n').find((line) => line.startsWith(`## ${version}`));
  if (heading === undefined) throw new Error(`CHANGELOG.md has no section "## ${version}"`);
  if (heading.includes('unreleased')) {
    throw new Error(`CHANGELOG.md calls ${version} unreleased. Write the date of the release.`);
  }
}

/** Runs the test of the package on Nodes that npm has as packages for this system, too. */
function tryOnNodes(scratch) {
  const system = process.platform === 'win32' ? 'win' : process.platform;
  const specs = MORE_NODES.map((of) => `node-${of}@npm:node-${system}-${process.arch}@${of}`);
  run('npm', ['install', '--prefix', scratch, '--no-save', '--no-audit', '--no-fund', ...specs]);
  const paths = MORE_NODES.map((of) => join(scratch, `node_modules/node-${of}/bin/node`));
  run('npx', ['vitest', 'run', 'test/release', '--maxWorkers=1'], {
    env: { QUIPU_NODES: paths.join(':') },
  });
}

function install(scratch) {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', scratch];
  const [packed] = JSON.parse(run('npm', args, { print: false }));
  console.log(
    `${packed.filename}: ${packed.entryCount} files, ${(packed.size / 1e6).toFixed(1)} MB`,
  );
  const project = mkdtempSync(join(scratch, 'project-'));
  const startedMs = Date.now();
  run('npm', ['install', '--prefix', project, '--no-save', join(scratch, packed.filename)]);
  console.log(`Installed in ${((Date.now() - startedMs) / 1000).toFixed(1)} s.`);
}

const STEPS = {
  'The tree is committed, and the changelog has this version': checkTree,
  'Format, lint and types': () => run('npm', ['run', 'check']),
  'The build': () => run('npm', ['run', 'build']),
  'The package on several Nodes': tryOnNodes,
  'npm install of the package in an empty project': install,
  'Every test': () => run('npm', ['test']),
  'The site': () => run('npm', ['run', 'docs']),
};

const scratch = mkdtempSync(join(tmpdir(), 'quipu-release-'));
try {
  for (const [title, step] of Object.entries(STEPS)) {
    console.log(`\n== ${title}`);
    step(scratch);
  }
  console.log(`\nEverything holds. To publish: npm publish, then tag v${version}.`);
} catch (error) {
  console.error(`npm run release:check: ${error.message}`);
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
