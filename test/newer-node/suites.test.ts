import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { hasNewerNode, runOnNewerNode } from '../support/newer-node.ts';
import { projectPath } from '../support/project.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

/** Fewer would mean that the suites were not found. */
const TESTS_MIN = 150;

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
}

it('compiles the adapter for the AI SDK with the types of its newest major', () => {
  const argv = [projectPath('node_modules/typescript/bin/tsc'), '-p', 'test/newer-node'];
  const options = { cwd: projectPath('.'), encoding: 'utf8' } as const;
  const { status, stdout } = spawnSync(process.execPath, argv, options);
  expect(status, stdout).toBe(0);
});

it.runIf(hasNewerNode)('passes the suites on a newer Node', { timeout: 600_000 }, async () => {
  expect((await runOnNewerNode(['--version'])).output).toMatch(/^v2[4-9]\./);
  const folder = freshFolder('quipu-newer-');
  const report = join(folder, 'report.json');
  const { output } = await runOnNewerNode([
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
