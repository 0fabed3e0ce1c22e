import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { projectPath } from './project.ts';

/** A process appends turns with this word and searches for it. It is killed at some moment after its first answer. */
export async function killSearcher(store: string, word: string): Promise<void> {
  const script = projectPath('test/support/search-worker.mjs');
  const child = spawn(process.execPath, [script, store, word], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  await sleep(Math.random() * 60);
  child.kill('SIGKILL');
  await once(child, 'exit');
}
