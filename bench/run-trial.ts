import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Result, Trial } from './workloads/workload.ts';

const PROGRAM = fileURLToPath(new URL('trial.js', import.meta.url));

/** Runs one trial in a fresh process; `program` may be that of another build. */
export async function runTrial(trial: Trial, program: string = PROGRAM): Promise<Result> {
  const child = spawn(process.execPath, [program, JSON.stringify(trial)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  if (code === 0) return JSON.parse(out) as Result;
  throw new Error(`${trial.workload} with ${trial.driver} failed with code ${code}`);
}
