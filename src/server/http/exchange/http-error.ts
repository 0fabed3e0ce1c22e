import type { z } from 'zod';
import { invalid, isQuipuError } from '../../../base/errors.ts';
import { TOO_MANY, WIRE_CODE, safeDetail } from '../../../wire/error-message.ts';
import { jsonReply } from './route.ts';
import type { Reply } from './route.ts';

const PRECONDITION_FAILED = 412;

interface ErrorJson {
  readonly code: string;
  readonly message: string;
  readonly data: object;
}

/** The error as the client sees it. An error that is no QuipuError is a defect, and its text stays here. */
export function toErrorJson(error: unknown): { readonly error: ErrorJson } {
  if (!isQuipuError(error)) {
    const message = 'the server failed in a way it did not expect; its log says more';
    return { error: { code: 'IO', message, data: { path: '', errno: 'UNKNOWN' } } };
  }
  const { code, message, data } = error;
  return { error: { code, message: safeDetail(message), data } };
}

/** Facts of a request that its answer depends on. */
interface Failed {
  readonly hadIfMatch?: boolean;
  readonly invalidStatus?: number | undefined;
}

/** The answer to a request that failed. */
export function errorReply(error: unknown, { hadIfMatch, invalidStatus }: Failed = {}): Reply {
  const json = toErrorJson(error);
  if (!isQuipuError(error)) return jsonReply(json, { status: 500 });
  const { code } = error;
  const moved = code === 'HEAD_MOVED' && hadIfMatch === true;
  const isTooMuch = isQuipuError(error, 'UNAVAILABLE') && error.data.what === 'connection';
  const usual = (code === 'INVALID' ? invalidStatus : undefined) ?? WIRE_CODE[code];
  const status = moved ? PRECONDITION_FAILED : isTooMuch ? TOO_MANY : usual;
  const headers = code === 'UNAUTHORIZED' ? { 'WWW-Authenticate': 'Bearer' } : {};
  return jsonReply(json, { status, headers });
}

/** Throws INVALID that names the first mistake. `at` is the place of the value in what the client sent. */
export function checkInput<T extends z.ZodType>(
  schema: T,
  value: unknown,
  where: string,
  at: readonly string[] = [],
): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = [...at, ...(issue?.path ?? [])];
  const what = path.length === 0 ? where : path.join('.');
  throw invalid(what, `is not valid: ${issue?.message ?? 'it does not fit'}`);
}
