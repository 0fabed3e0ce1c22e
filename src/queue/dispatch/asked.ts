import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { QueueFolder } from '../folder.ts';

// run/dispatch.asked: somebody asked for a dispatch, and it has not looked yet.
// A dispatch removes it before it looks at the events. So whoever finds it after a push was committed knows that a dispatch
// will see that push, and asks for none itself: a burst of pushes has one dispatch and not as many as there are pushes.

/** After this long the one who asked, or whom it asked, counts as gone. */
const FRESH_MS = 10_000;

function askedPath({ run }: QueueFolder): string {
  return join(run, 'dispatch.asked');
}

/** True when nobody has asked: then the caller has, and must see to it. */
export function askForDispatch(folder: QueueFolder, nowMs: number): boolean {
  const path = askedPath(folder);
  try {
    writeFileSync(path, '', { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    // In a folder that cannot be written to, each one asks.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return true;
  }
  const askedAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  if (askedAt !== undefined && Math.abs(nowMs - askedAt) < FRESH_MS) return false;
  // Also where several find it stale at once: one dispatch too many does no harm.
  forgetAsked(folder);
  return askForDispatch(folder, nowMs);
}

export function forgetAsked(folder: QueueFolder): void {
  rmSync(askedPath(folder), { force: true });
}
