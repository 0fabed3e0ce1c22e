import { resolve } from 'node:path';
import type { QuipuShell } from './shell.ts';

/** Keeps an id as it is. Resolves a path from the user's working directory. */
export function toSessionArgument(shell: QuipuShell, text: string): string {
  return /[/\\]/.test(text) || text.endsWith('.jsonl') ? resolve(shell.cwd, text) : text;
}
