import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { QueueFolder } from '../folder.ts';

// run/dispatch.asked: a process asked for a dispatch, and that dispatch has not looked yet.
// A dispatch removes this file before it looks at the events. So a process that finds the file after its push was
// committed knows that a dispatch will see that push, and asks for none itself. A burst of pushes has one dispatch and
// not one for each push.

/** After this long, the process that asked, or the one that was asked, counts as gone. */
const FRESH_MS = 10_000;

function askedPath({ run }: QueueFolder): string {
  return join(run, 'dispatch.asked');
}

/** Returns true when nobody has asked yet. The caller has then asked, and must run the dispatch. */
export function askForDispatch(folder: QueueFolder, nowMs: number): boolean {
  const path = askedPath(folder);
  try {
    writeFileSync(path, '', { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    // In a folder that is not writable, every process asks.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return true;
  }
  const askedAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  if (askedAt !== undefined && Math.abs(nowMs - askedAt) < FRESH_MS) return false;
  // Several processes may find the file stale at once: one dispatch too many does no harm.
  forgetAsked(folder);
  return askForDispatch(folder, nowMs);
}

export function forgetAsked(folder: QueueFolder): void {
  rmSync(askedPath(folder), { force: true });
}
