import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { projectPath } from '../support/project.ts';

const LAST_LINE = 'Ctrl-C stops it.';

it(
  'npm start serves, and the lines it prints append a first turn',
  { timeout: 60_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quipu-start-'));
    const cwd = projectPath('.');
    // The store is named last, so that the one of the project is left alone.
    const args = ['--port', '0', '--tcp-port', '0', '--store', join(folder, 'store')];
    const { QUIPU_STORE: _, QUIPU_TOKEN: __, ...env } = process.env;
    const server = spawn(process.execPath, [projectPath('scripts/start.mjs'), ...args], {
      cwd,
      env,
    });
    let said = '';
    server.stderr.on('data', (data: Buffer) => void (said += data.toString()));
    try {
      for await (const data of server.stdout) {
        said += String(data);
        if (said.includes(LAST_LINE)) break;
      }
      // The banner is the last that is said, and nothing is said before it.
      expect(said).toMatch(/^Quipu \d[^]*Ctrl-C stops it\.\n$/);
      const lines = said.split('\n').filter((line) => line.startsWith('  '));
      const commands = lines.filter((line) => /\bexport |\bcontext /.test(line)).join('\n');
      const shell = spawnSync('bash', ['--norc', '-euo', 'pipefail', '-c', commands], {
        cwd,
        env,
        encoding: 'utf8',
      });
      expect(shell, said).toMatchObject({ status: 0, stderr: '' });
      expect(shell.stdout).toMatch(/^1\nTURN .*\n +1 .*"text":"hi"/);
    } finally {
      server.kill('SIGTERM');
      const [code] = (await once(server, 'exit')) as [number | null];
      rmSync(folder, { recursive: true, force: true });
      expect(code, said).toBe(0);
    }
  },
);

it('npm start without the two hyphens says what to type', () => {
  const env = { ...process.env, npm_config_demo: 'true', npm_config_port: '8000' };
  const ran = spawnSync(process.execPath, [projectPath('scripts/start.mjs')], {
    cwd: tmpdir(),
    env,
    encoding: 'utf8',
  });
  expect(ran).toMatchObject({ status: 2, stdout: '' });
  expect(ran.stderr).toContain('type: npm start -- --demo --port 8000\n');
});
