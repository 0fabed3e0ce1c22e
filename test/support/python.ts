import { spawn, spawnSync } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { projectPath } from './project.ts';

const PROGRAM = 'import sys; sys.exit(0 if sys.version_info >= (3, 9) else 1)';

/** True where Python 3.9 or newer is installed. Else the tests that need it are skipped, and say so. */
export function hasPython(): boolean {
  const { status, error } = spawnSync('python3', ['-c', PROGRAM], { timeout: 30_000 });
  if (status === 0) return true;
  const why = error === undefined ? 'python3 is older than 3.9' : 'there is no python3';
  process.stderr.write(`skipped, the tests of the Python client: ${why}\n`);
  return false;
}

export interface PythonRun {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
  readonly killed: boolean;
}

/** Runs Python with the client at hand. Kills it once it has printed the line `last`, if one is given. */
export function runPython(
  args: readonly string[],
  { env = {}, last }: { env?: Readonly<Record<string, string>>; last?: string } = {},
): Promise<PythonRun> {
  const child = spawn('python3', ['-B', ...args], {
    env: {
      ...process.env,
      PYTHONPATH: projectPath('clients/python'),
      PYTHONIOENCODING: 'utf-8',
      QUIPU_NODE: process.execPath,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let [stdout, stderr] = ['', ''];
  child.stderr.setEncoding('utf8').on('data', (piece: string) => void (stderr += piece));
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    stdout += piece;
    if (last !== undefined && stdout.includes(`${last}\n`)) child.kill('SIGKILL');
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) =>
      resolve({ stdout, stderr, code, killed: signal === 'SIGKILL' }),
    );
  });
}
