import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import process from 'node:process';

// Tells whether a process is still the same one. Its number alone does not prove it: the system gives numbers again,
// and after a restart of the machine from the beginning. The number together with the start time and the boot is
// unique.

export interface ProcessMark {
  readonly pid: number;
  /** Differs for every process that ever has the number. Empty where the system does not tell. */
  readonly started: string;
}

/** Returns undefined when there is no such process. */
export function markOf(pid: number): ProcessMark | undefined {
  if (process.platform === 'linux') {
    const stat = readStat(String(pid));
    if (stat === undefined || stat.state === 'Z' || stat.state === 'X') return undefined;
    return { pid, started: `${bootId()}/${stat.startedTicks}` };
  }
  if (!isThere(pid)) return undefined;
  return { pid, started: process.platform === 'win32' ? '' : startFromPs(pid) };
}

/**
 * The mark of a child that was started just now. The child may have ended since, as long as nobody has collected it.
 */
export function markOfChild(pid: number): ProcessMark {
  const stat = process.platform === 'linux' ? readStat(String(pid)) : undefined;
  if (stat !== undefined) return { pid, started: `${bootId()}/${stat.startedTicks}` };
  return markOf(pid) ?? { pid, started: '' };
}

export function isRunning(mark: ProcessMark): boolean {
  const now = markOf(mark.pid);
  return now !== undefined && (mark.started === '' || now.started === mark.started);
}

/** Returns whether any process of the group that `leader` began is left, also after the leader is gone. */
export function isGroupRunning(leader: ProcessMark): boolean {
  const now = markOf(leader.pid);
  if (now !== undefined) return leader.started === '' || now.started === leader.started;
  if (process.platform === 'win32' || !isThere(-leader.pid)) return false;
  if (process.platform !== 'linux') return true;
  if (!leader.started.startsWith(`${bootId()}/`)) return false;
  // A dead process that nobody has collected still has its group, in some containers for ever.
  return readdirSync('/proc').some((name) => {
    if (!/^[0-9]+$/.test(name)) return false;
    const stat = readStat(name);
    return stat?.group === leader.pid && stat.state !== 'Z' && stat.state !== 'X';
  });
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

interface Stat {
  readonly state: string;
  readonly group: number;
  readonly startedTicks: string;
}

function readStat(pid: string): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The program's name stands in parentheses and may hold any character, also parentheses.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state = '', , group = ''] = fields;
    return { state, group: Number(group), startedTicks: fields[19] ?? '' };
  } catch {
    // The process has ended.
    return undefined;
  }
}

let boot: string | undefined;

function bootId(): string {
  boot ??= readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  return boot;
}

function startFromPs(pid: number): string {
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    // Without `ps` only the number is known.
    return '';
  }
}
