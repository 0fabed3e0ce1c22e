import { spawn } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { projectPath } from './project.ts';

export interface ExampleRun {
  readonly lines: string[];
  readonly killed: boolean;
}

/** Runs a program of `examples`, and kills it once it has printed the line `last`. */
export function runExample(
  file: string,
  args: readonly string[],
  last?: string,
): Promise<ExampleRun> {
  const child = spawn(process.execPath, [projectPath(`examples/${file}`), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    output += piece;
    if (last !== undefined && output.includes(`${last}\n`)) child.kill('SIGKILL');
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (_code, signal) =>
      resolve({ lines: output.trimEnd().split('\n'), killed: signal === 'SIGKILL' }),
    );
  });
}
