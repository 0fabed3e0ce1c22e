import { QuipuError, isQuipuError } from '../../base/errors.ts';
import { TOO_MANY, toErrorMessage } from '../../wire/error-message.ts';
import type { ErrorMessage } from '../../wire/error-message.ts';

/** The error for a client that asks too much, or reads too slowly. */
export function tooMuch(problem: string): QuipuError<'UNAVAILABLE'> {
  return new QuipuError('UNAVAILABLE', problem, { what: 'connection' });
}

export function goingAway(): QuipuError<'UNAVAILABLE'> {
  return new QuipuError('UNAVAILABLE', 'the server is stopping; try again', { what: 'server' });
}

export function noAnswerYet(afterMs: number): QuipuError<'TIMEOUT'> {
  return new QuipuError('TIMEOUT', `no answer within ${afterMs} ms; the outcome is unknown`, {
    what: 'request',
    afterMs,
    outcome: 'unknown',
  });
}

/** True for a failure of the server itself, which belongs in its log. */
export function isOwnFault(error: unknown): boolean {
  return !isQuipuError(error) || error.code === 'IO' || error.code === 'CORRUPT';
}

/** The error as a client may see it. Details that are not meant for clients stay here. */
export function toWireError(error: unknown, knowsQuipu: boolean): ErrorMessage {
  if (!isQuipuError(error)) {
    const message = 'the server failed to answer; its log says why';
    const plain = new QuipuError('IO', message, { path: '', errno: 'UNKNOWN' });
    return toErrorMessage(plain, knowsQuipu);
  }
  if (isQuipuError(error, 'UNAVAILABLE') && error.data.what === 'connection') {
    return toErrorMessage(error, knowsQuipu, TOO_MANY);
  }
  return toErrorMessage(error, knowsQuipu);
}
