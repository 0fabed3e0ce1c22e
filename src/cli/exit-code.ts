import type { ErrorCode } from '../base/errors.ts';

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
