import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { projectPath } from '../support/project.ts';

/** Each program prints `finding 1` to `finding 5` as its model says so, and then what its store has. */
const PROGRAMS = [
  'ai-sdk-chat.mjs',
  'claude-session.mjs',
  'langgraph-agent.mjs',
  'openai-agents.mjs',
];
const END = 'Write a report., finding 1, finding 2, finding 3, finding 4, finding 5';

interface Run {
  readonly lines: string[];
  readonly killed: boolean;
}

/** Runs a program, and kills it once it has printed `last`. */
function run(file: string, folder: string, last?: string): Promise<Run> {
  const child = spawn(process.execPath, [projectPath(`examples/${file}`), folder], {
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

describe.each(PROGRAMS)('examples/%s', (file) => {
  it('goes on where it was killed, and has everything at the end', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quipu-example-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const first = await run(file, folder, 'finding 3');
    expect(first.killed).toBe(true);
    const second = await run(file, folder);
    expect(second.lines.at(-1)).toBe(END);
    // What was durable is not done again: at most the steps at the moment of the kill.
    expect(second.lines).not.toContain('finding 1');
    expect(second.lines).toContain('finding 5');
    const third = await run(file, folder);
    expect(third.lines).toEqual([END]);
  });
});
