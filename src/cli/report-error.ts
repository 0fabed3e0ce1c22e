import { CommanderError } from 'commander';
import { QuipuError, isQuipuError } from '../base/errors.ts';
import { EXIT_CODE } from './exit-code.ts';
import { toHint } from './hint.ts';
import { Interrupted } from './interrupt.ts';
import { escapeControls } from './plain-text.ts';
import { Unhealthy } from './unhealthy.ts';
import type { QuipuShell } from './shell.ts';

/** Reports an error on standard error, for people or as one JSON object, and returns the exit code. */
export function reportError(thrown: unknown, json: boolean, shell: QuipuShell): number {
  const error = firstFailure(thrown);
  if (isBrokenPipe(error)) return 0;
  if (error instanceof Interrupted) return reportOther('INTERRUPTED', error.message, json, shell);
  if (error instanceof Unhealthy) return reportOther('UNHEALTHY', error.message, json, shell);
  const known = toQuipuError(error);
  if (known === undefined) return reportBug(error, json, shell);

  if (json) {
    shell.err(`${JSON.stringify({ error: known })}\n`);
  } else {
    shell.err(`quipu: ${showLines(known.message)}\n`);
    const hint = toHint(known);
    if (hint !== undefined) shell.err(`hint: ${showLines(hint)}\n`);
  }
  return EXIT_CODE[known.code];
}

/** When closing the store fails too, the failure before it is the one to report. */
function firstFailure(thrown: unknown): unknown {
  let error = thrown;
  while (error instanceof Error && error.name === 'SuppressedError' && 'suppressed' in error) {
    error = error.suppressed;
  }
  return error;
}

/** The reader of a pipe has seen enough, as in `quipu context export 1 | head`. */
function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}

function toQuipuError(error: unknown): QuipuError | undefined {
  if (isQuipuError(error)) return error;
  if (!(error instanceof CommanderError)) return undefined;
  const message = error.message.replace(/^error: /, '');
  return new QuipuError('INVALID', message, { what: 'command line' });
}

/** The error is not an answer of the store but a fault in the program, so the place in the code helps. */
function reportBug(error: unknown, json: boolean, shell: QuipuShell): number {
  const message = error instanceof Error ? error.message : String(error);
  const stack = error instanceof Error ? error.stack : undefined;
  const shown = json ? message : `internal error: ${stack ?? message}`;
  return reportOther('INTERNAL', shown, json, shell);
}

/** Reports errors that only the command line has. */
function reportOther(
  code: 'INTERNAL' | 'INTERRUPTED' | 'UNHEALTHY',
  message: string,
  json: boolean,
  shell: QuipuShell,
): number {
  const error = { code, message, data: {} };
  shell.err(json ? `${JSON.stringify({ error })}\n` : `quipu: ${showLines(message)}\n`);
  return 1;
}

/** Messages quote text that users stored or typed. Line breaks are ours, other controls are not. */
function showLines(text: string): string {
  return text.split('\n').map(escapeControls).join('\n');
}
