/**
 * Every code and the facts it carries. Codes are stable across majors; messages are not.
 * docs/reference/errors.md says for each one what happened and what to do.
 */
export interface ErrorData {
  NOT_FOUND: { what: string; id: string };
  HEAD_MOVED: { context: string; expected: string; head: string };
  EXISTS: { what: string; id: string };
  IDEMPOTENCY_CONFLICT: { context: string; key: string; turn: string };
  INVALID: { what: string };
  TOO_LARGE: { what: string; limit: number; size: number };
  CORRUPT: { file: string; offset: number };
  DISK_FULL: { path: string };
  /** `outcome: 'unknown'` marks a write that may or may not be there after the store is opened again. */
  IO: { path: string; errno: string; outcome?: 'unknown' };
  CLOSED: { what: string };
  READ_ONLY: { path: string };
  LOCKED: { what: string; owner: string };
  UNAUTHORIZED: Record<never, never>;
  FORBIDDEN: { scope: string };
  /** `outcome: 'unknown'` here and below marks a write that may have been carried out. */
  UNAVAILABLE: { what: string; outcome?: 'unknown' };
  TIMEOUT: { what: string; afterMs: number; outcome?: 'unknown' };
  UNSUPPORTED: { what: string; found: string };
}

export type ErrorCode = keyof ErrorData;

/** The one error class: branch on `code`, read the facts in `data`, show `message` to a person. */
export class QuipuError<C extends ErrorCode = ErrorCode> extends Error {
  readonly code: C;
  readonly data: ErrorData[C];

  constructor(code: C, message: string, data: ErrorData[C], options?: ErrorOptions) {
    super(message, options);
    this.name = 'QuipuError';
    this.code = code;
    this.data = data;
  }

  toJSON(): { code: C; message: string; data: ErrorData[C] } {
    return { code: this.code, message: this.message, data: this.data };
  }
}

/** True for a `QuipuError`, and for one with exactly that code when `code` is given. */
export function isQuipuError<C extends ErrorCode>(
  error: unknown,
  code?: C,
): error is QuipuError<C> {
  return error instanceof QuipuError && (code === undefined || error.code === code);
}

/** The words of whatever was thrown, as part of a sentence. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Resolves with undefined when the work ends with one of these errors, or with any of ours when none is named. */
export async function orNothing<T>(
  work: () => T | Promise<T>,
  ...codes: readonly ErrorCode[]
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    const isExpected = isQuipuError(error) && (codes.length === 0 || codes.includes(error.code));
    if (!isExpected) throw error;
    return undefined;
  }
}

/** Wrong input: `what` names the argument, `problem` completes the sentence "<what> …". */
export function invalid(what: string, problem: string): QuipuError<'INVALID'> {
  return new QuipuError('INVALID', `${what} ${problem}`, { what });
}

/** `what` and `id` say what is missing. */
export function notFound(
  what: string,
  id: string | bigint,
  message = `there is no ${what} ${id}`,
): QuipuError<'NOT_FOUND'> {
  return new QuipuError('NOT_FOUND', message, { what, id: String(id) });
}

/** The caller chose an id or a name that another thing of this kind has. */
export function exists(what: string, id: string, message: string): QuipuError<'EXISTS'> {
  return new QuipuError('EXISTS', message, { what, id });
}

/** Stored data as a whole is not what was written. Damage at a place of its own names the offset, too. */
export function corrupt(
  file: string,
  message: string,
  options?: ErrorOptions,
): QuipuError<'CORRUPT'> {
  return new QuipuError('CORRUPT', message, { file, offset: 0 }, options);
}

export function tooLarge(
  what: string,
  limit: number,
  size: number,
  message = `${what} has ${size} bytes, and ${limit} is the limit`,
): QuipuError<'TOO_LARGE'> {
  return new QuipuError('TOO_LARGE', message, { what, limit, size });
}

/** A format, method or place that this program cannot deal with; `found` is what it met. */
export function unsupported(
  what: string,
  found: string,
  message: string,
): QuipuError<'UNSUPPORTED'> {
  return new QuipuError('UNSUPPORTED', message, { what, found });
}

/** `owner` says who has the thing now. */
export function locked(what: string, owner: string, message: string): QuipuError<'LOCKED'> {
  return new QuipuError('LOCKED', message, { what, owner });
}

export function storeClosed(): QuipuError<'CLOSED'> {
  return new QuipuError('CLOSED', 'the store is closed', { what: 'store' });
}
