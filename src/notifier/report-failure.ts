import { CommanderError } from 'commander';
import { isQuipuError } from '../base/errors.ts';
import { EXIT_CODE } from '../cli/exit-code.ts';
import { escapeControls } from '../cli/plain-text.ts';
import { outputHint } from '../cli/process-streams.ts';
import { toQuipuError } from '../engine/files/disk/io-error.ts';
import { Refused } from './refused.ts';
import type { NotifierShell } from './shell.ts';

interface Told {
  readonly error: string;
  readonly suggestion: string;
  readonly code: 1 | 2;
}

/**
 * Prints `Error: <what went wrong> - <how to fix>` or, with `--json`, `{"error","suggestion"}`. Returns the exit code.
 */
export function reportFailure(thrown: unknown, json: boolean, shell: NotifierShell): number {
  if ((thrown as NodeJS.ErrnoException).code === 'EPIPE') return 0;
  const { error, suggestion, code } = tell(thrown);
  shell.err(
    json
      ? `${JSON.stringify({ error, suggestion })}\n`
      : `Error: ${escapeControls(error)} - ${escapeControls(suggestion)}\n`,
  );
  return code;
}

function tell(thrown: unknown): Told {
  if (thrown instanceof Refused) {
    return { error: thrown.message, suggestion: thrown.suggestion, code: 1 };
  }
  if (thrown instanceof CommanderError) {
    const error = thrown.message.replace(/^error: /, '').replaceAll('\n', ' ');
    return { error, suggestion: 'see --help', code: 2 };
  }
  const { path } = thrown as NodeJS.ErrnoException;
  const known = toQuipuError(thrown, path ?? 'the spool');
  if (!isQuipuError(known)) {
    const where = known.stack ?? known.message;
    return { error: `internal error: ${where}`, suggestion: 'please report it', code: 1 };
  }
  const code = EXIT_CODE[known.code];
  const suggestion = outputHint(known) ?? suggest(code, known.code);
  return { error: known.message, suggestion, code };
}

function suggest(exit: 1 | 2, code: string): string {
  if (exit === 2) return 'see --help';
  if (code === 'DISK_FULL') return 'free some space and try again';
  if (code === 'READ_ONLY' || code === 'FORBIDDEN')
    return 'choose another folder with --home or NOTIFIER_HOME';
  return 'see "notifier status"';
}
