import type { Progress } from '../engine/progress.ts';
import { startProgress } from './progress-line.ts';
import type { QuipuShell } from './shell.ts';

/** Runs long work with a bar that is wiped before anything else is printed. */
export async function withProgress<T>(
  shell: QuipuShell,
  work: (report: Progress) => Promise<T>,
): Promise<T> {
  const progress = startProgress(shell);
  try {
    return await work(progress.report);
  } finally {
    progress.end();
  }
}
