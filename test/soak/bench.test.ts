import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ROWS } from '../../bench/rows/rows.ts';
import { projectPath } from '../support/project.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

const out = freshFolder('quipu-bench-', afterAll);

function bench(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [projectPath('scripts/bench.mjs'), ...args], {
    encoding: 'utf8',
  });
}

// The sizes say nothing about speed; that every row runs to its end is what is tested.
describe('npm run bench', () => {
  it('runs every row and writes the results', { timeout: 240_000 }, () => {
    const { status, stdout, stderr } = bench('--smoke', '--out', out);
    expect(status, stderr).toBe(0);
    const results = readFileSync(join(out, 'RESULTS.md'), 'utf8');
    const table = results.split('\n').filter((line) => line.startsWith('|'));
    expect(stdout.trimEnd().split('\n')).toEqual(table);
    expect(table.length).toBeGreaterThan(ROWS.length + 2);
    expect(`${stdout}${results}`).not.toMatch(/NaN|undefined|Infinity/);
    expect(readdirSync(join(out, 'plots'))).toEqual([
      'append-cost.svg',
      'memory.svg',
      'open-time.svg',
    ]);
  });
});
