import type { Progress } from '../engine/engine.ts';
import type { QuipuShell } from './shell.ts';
import { toPlainLine } from './plain-text.ts';

const REDRAW_MS = 100;
const BAR_CHARS = 24;

export interface ProgressLine {
  readonly report: Progress;
  /** Wipes the line, so that the next output starts on a clean one. */
  end(): void;
}

/** A bar on standard error that redraws itself in place. Prints nothing when nobody watches. */
export function startProgress(shell: QuipuShell): ProgressLine {
  let drawnAt = -Infinity;
  let drawn = false;
  return {
    report(done, total, what) {
      const now = shell.now();
      if (!shell.isTerminal || now - drawnAt < REDRAW_MS) return;
      drawnAt = now;
      drawn = true;
      shell.err(`\r\u001b[K${toProgressText(done, total, what)}`);
    },
    end() {
      if (drawn) shell.err('\r\u001b[K');
    },
  };
}

function toProgressText(done: number, total: number, what: string): string {
  const name = toPlainLine(what, 32);
  if (total <= 0) return `${name} ${done}`;
  const part = Math.min(1, done / total);
  const filled = Math.round(part * BAR_CHARS);
  return `${'#'.repeat(filled)}${'.'.repeat(BAR_CHARS - filled)} ${Math.floor(part * 100)}% ${name}`;
}
