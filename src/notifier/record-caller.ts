import type { NotifierShell } from './shell.ts';

/** The folder and the variables with which a command is to run, as if the caller ran it. */
export function recordCaller({ cwd, env }: NotifierShell): {
  cwd: string;
  env: Record<string, string>;
} {
  const set = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return { cwd, env: Object.fromEntries(set) };
}
