import { spawn } from 'node:child_process';
import { projectPath } from '../support/project.ts';

/**
 * Runs a program of this folder in a process that does nothing else, so that its memory is its own,
 * and returns the figures it prints as JSON.
 */
export async function measure(
  program: string,
  ...args: string[]
): Promise<Readonly<Record<string, number>>> {
  const child = spawn(process.execPath, [projectPath(`test/scale/${program}`), ...args]);
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code === 0) return JSON.parse(out) as Record<string, number>;
  throw new Error(`${program} ended with ${String(code)}: ${err}`);
}
