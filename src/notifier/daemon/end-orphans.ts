import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Run } from '../spool/records.ts';
import { killGroup } from './run-command.ts';

const POLL_MS = 20;

/**
 * Ends the processes left from a run whose daemon died, so that its task can run again and never runs twice at once.
 * The system may have given the number of a process to another since. So a group counts only if one of its processes
 * carries the id of the run.
 */
export async function endOrphans(run: Run, graceMs: number): Promise<void> {
  const killAt = Date.now() + graceMs;
  if (!isGroupOf(run)) return;
  killGroup(run.pid, 'SIGTERM');
  while (isGroupOf(run)) {
    if (Date.now() >= killAt) killGroup(run.pid, 'SIGKILL');
    await sleep(POLL_MS);
  }
}

function isGroupOf({ pid, runId }: Run): boolean {
  return listProcesses().some((process) => groupOf(process) === pid && hasRunId(process, runId));
}

/** The numbers of the processes; none on systems that do not show them as files. */
function listProcesses(): string[] {
  if (!existsSync('/proc')) return [];
  return readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name));
}

function groupOf(process: string): number | undefined {
  // The program's name stands in parentheses and may hold any character. After it come state, parent and group.
  const text = readOrNothing(`/proc/${process}/stat`);
  const [, , group] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return group === undefined ? undefined : Number(group);
}

function hasRunId(process: string, runId: string): boolean {
  const variables = readOrNothing(`/proc/${process}/environ`).split('\0');
  return variables.includes(`NOTIFIER_RUN_ID=${runId}`);
}

/** A process may end during the look, or belong to another user. */
function readOrNothing(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
