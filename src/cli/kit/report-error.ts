import { CommanderError } from 'commander';
import { QuipuError, isQuipuError, messageOf, type ErrorCode } from '../../base/errors.ts';
import { escapeLines } from './text.ts';
import type { QuipuShell } from './command.ts';
import { outputHint } from './process.ts';

/** Reports an error on standard error, for people or as one JSON object, and returns the exit code. */
export function reportError(thrown: unknown, json: boolean, shell: QuipuShell): number {
  const failure = firstFailure(thrown);
  if (isBrokenPipe(failure)) return 0;
  const error = toShown(failure, json);
  const isKnown = isQuipuError(error);
  if (json) {
    shell.err(`${JSON.stringify({ error })}\n`);
  } else {
    shell.err(`quipu: ${escapeLines(error.message)}\n`);
    const hint = isKnown ? toHint(error) : undefined;
    if (hint !== undefined) shell.err(`hint: ${escapeLines(hint)}\n`);
  }
  return isKnown ? EXIT_CODE[error.code] : 1;
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

/** An error that only the command line has. */
interface OtherError {
  readonly code: 'INTERNAL' | 'INTERRUPTED' | 'UNHEALTHY';
  readonly message: string;
  readonly data: object;
}

function toShown(error: unknown, json: boolean): QuipuError | OtherError {
  if (isQuipuError(error)) return error;
  const message = messageOf(error);
  if (error instanceof CommanderError) {
    return new QuipuError('INVALID', message.replace(/^error: /, ''), { what: 'command line' });
  }
  if (error instanceof Interrupted) return { code: 'INTERRUPTED', message, data: {} };
  if (error instanceof Unhealthy) return { code: 'UNHEALTHY', message, data: {} };
  // The error is not an answer of the store but a fault in the program, so the place in the code helps.
  const stack = error instanceof Error ? error.stack : undefined;
  const shown = json ? message : `internal error: ${stack ?? message}`;
  return { code: 'INTERNAL', message: shown, data: {} };
}

/** The next command to type, where the command line knows better than the message. */
function toHint(error: QuipuError): string | undefined {
  if (isQuipuError(error, 'NOT_FOUND') && error.data.what === 'context') {
    return 'list the contexts with: quipu context list';
  }
  if (isQuipuError(error, 'UNAUTHORIZED')) {
    return 'give a token with --token, or set QUIPU_TOKEN; "quipu token create" makes one';
  }
  if (isQuipuError(error, 'HEAD_MOVED') && /^[0-9]+$/.test(error.data.context)) {
    return `someone was faster; look again with: quipu context last ${error.data.context}`;
  }
  if (isQuipuError(error, 'LOCKED') && error.data.what === 'store') {
    return 'see who has it, and whether it answers, with: quipu doctor';
  }
  if (isQuipuError(error, 'IDEMPOTENCY_CONFLICT')) {
    return `that key was used for turn ${error.data.turn}; choose another key for another payload`;
  }
  const isEncoding = isQuipuError(error, 'INVALID') && error.data.what === 'payload';
  if (isEncoding && error.message.includes('encoding')) {
    return 'say what the payload is with: --encoding text, json, msgpack or bytes';
  }
  return outputHint(error);
}

/** 2: the input or the command line is wrong, and typing it again will not help. 1: the store refused. */
export const EXIT_CODE: Record<ErrorCode, 1 | 2> = {
  NOT_FOUND: 1,
  HEAD_MOVED: 1,
  EXISTS: 1,
  IDEMPOTENCY_CONFLICT: 1,
  INVALID: 2,
  TOO_LARGE: 1,
  CORRUPT: 1,
  DISK_FULL: 1,
  IO: 1,
  CLOSED: 1,
  READ_ONLY: 1,
  LOCKED: 1,
  UNAUTHORIZED: 1,
  FORBIDDEN: 1,
  UNAVAILABLE: 1,
  TIMEOUT: 1,
  UNSUPPORTED: 1,
};

/** The command did its work, and found a problem. */
export class Unhealthy extends Error {
  override readonly name: string = 'Unhealthy';
}

/** The person at the terminal ended the command before it was through. */
export class Interrupted extends Error {
  override readonly name: string = 'Interrupted';
}

/** Yields values from `source` until it ends or the signal aborts, even while no value comes. */
export async function* untilAborted<T>(
  source: AsyncIterable<T>,
  signal: AbortSignal,
): AsyncIterable<T> {
  const iterator = source[Symbol.asyncIterator]();
  while (!signal.aborted) {
    const next = await nextOrAbort(iterator, signal);
    if (next === undefined || next.done === true) return;
    yield next.value;
  }
}

/** Adds a listener for each piece: one promise raced against all of them would hold on to every piece. */
async function nextOrAbort<T>(
  iterator: AsyncIterator<T, unknown>,
  signal: AbortSignal,
): Promise<IteratorResult<T, unknown> | undefined> {
  let stop: () => void = () => undefined;
  const aborted = new Promise<undefined>((resolve) => {
    stop = () => resolve(undefined);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([iterator.next(), aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
