import { isQuipuError } from '../../base/errors.ts';
import { NotUnpacked } from '../read/unpack.ts';

/** A file that could not be imported, and why. */
export interface FailedFile {
  readonly path: string;
  readonly why: string;
}

const FAILED_MAX = 100;

/**
 * True for an error that is the file's own: it cannot be read, or what it holds is refused, or breaks the code that
 * reads it. Such a file must not keep the others out. Errors of the store itself end the import.
 */
export function isOfFile(error: unknown): error is Error {
  if (isQuipuError(error)) return error.code === 'INVALID' || error.code === 'TOO_LARGE';
  if (!(error instanceof Error)) return false;
  const isOfRecord =
    error instanceof RangeError || error instanceof TypeError || error instanceof SyntaxError;
  return isOfRecord || error instanceof NotUnpacked || 'syscall' in error;
}

export function noteFailed(
  { failed }: { readonly failed: FailedFile[] },
  path: string,
  { message }: Error,
): void {
  const isKnown = failed.some((file) => file.path === path);
  if (!isKnown && failed.length < FAILED_MAX) failed.push({ path, why: message });
}
