import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { PEERS } from '../../bench/peers/peers.ts';
import { ROWS } from '../../bench/rows/rows.ts';
import { projectPath, readProject } from '../support/project.ts';

function bench(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [projectPath('scripts/bench.mjs'), ...args], {
    encoding: 'utf8',
  });
}

// The sizes say nothing about speed; that rows run to their end is what is tested. All of them: a soak.
describe('npm run bench', () => {
  it('runs a row', { timeout: 120_000 }, () => {
    const { status, stdout, stderr } = bench('--smoke', '--only', 'fork');
    expect(status, stderr).toBe(0);
    expect(stdout).toMatch(/^\| fork/m);
    expect(stdout).not.toMatch(/NaN|undefined|Infinity/);
  });

  it('runs a row beside another checkout', { timeout: 120_000 }, () => {
    const { status, stdout, stderr } = bench(
      '--smoke',
      '--only',
      'last-64',
      '--beside',
      projectPath('.'),
    );
    expect(status, stderr).toBe(0);
    expect(stdout).toMatch(/^\| last-turns quipu .* \| p50Ms \| [\d.]+ \| [\d.]+ \| [\d.]+ \|/m);
    expect(bench('--smoke', '--beside', projectPath('docs'))).toMatchObject({ status: 2 });
  });

  it('explains itself, and says what it does not know', { timeout: 60_000 }, () => {
    const help = bench('--help');
    expect(help.status).toBe(0);
    for (const { name } of ROWS) expect(help.stdout).toContain(name);
    expect(bench('--only', 'nothing')).toMatchObject({ status: 2 });
  });
});

describe('npm run bench:peers', () => {
  it('measures all peers that are installed, without a network', { timeout: 240_000 }, () => {
    const before = readProject('README.md');
    const { status, stdout, stderr } = bench('peers', '--smoke', '--offline');
    expect(status, stderr).toBe(0);
    const ready = PEERS.filter(({ driver }) => driver !== 'streams-server');
    for (const { title } of ready) expect(stdout).toContain(`| ${title} | `);
    expect(stdout).not.toMatch(/NaN|undefined|Infinity/);
    expect(readProject('README.md')).toBe(before);
  });

  it('explains itself, and says what it does not know', { timeout: 60_000 }, () => {
    expect(bench('peers', '--help').stdout).toContain('--offline');
    expect(bench('peers', '--nothing')).toMatchObject({ status: 2 });
  });
});
