import { readFileSync, readlinkSync } from 'node:fs';
import process from 'node:process';

/** These shells open /dev/null for writing alone when they are told to send output there. */
const SHELLS = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'mksh', 'ash', 'busybox', 'fish']);

const ACCESS = 0o3;
const READ_AND_WRITE = 0o2;

/**
 * Returns whether standard output was closed when this process began, as by `>&-`. Node then opens /dev/null in its
 * place, for reading and writing, and no write to it fails. A program that starts others and discards their output
 * leaves the same state. So this function looks at the parent process. If the parent has no output either, or is a
 * shell, which would have opened /dev/null otherwise, the output was closed. Unknown cases and other systems count as
 * open.
 */
export function isOutputClosed(): boolean {
  try {
    if (!isNullForAll('self')) return false;
    const parent = String(process.ppid);
    if (!hasOutput(parent)) return true;
    const name = readFileSync(`/proc/${parent}/comm`, 'utf8').trim();
    return SHELLS.has(name) && !isNullForAll(parent);
  } catch {
    return false;
  }
}

function isNullForAll(pid: string): boolean {
  if (readlinkSync(`/proc/${pid}/fd/1`) !== '/dev/null') return false;
  const [, flags = ''] =
    /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/1`, 'utf8')) ?? [];
  return (Number.parseInt(flags, 8) & ACCESS) === READ_AND_WRITE;
}

function hasOutput(pid: string): boolean {
  try {
    readlinkSync(`/proc/${pid}/fd/1`);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
