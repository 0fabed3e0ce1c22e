import { isQuipuError } from '../../base/errors.ts';
import { NotUnpacked } from '../read/read-records.ts';

/** The result of an import. */
export interface ImportReport {
  readonly source: string;
  /** Files that were looked at, and those among them that had not changed. */
  files: number;
  unchanged: number;
  /** Sessions that got turns. */
  sessions: number;
  turns: number;
  /** Branches, and copies of other sessions. */
  forks: number;
  /** Pictures and long texts, and those among them that the store had already. */
  blobs: number;
  blobsShared: number;
  /** Records that are kept beside the turns. */
  asides: number;
  bytesIn: number;
  bytesStored: number;
  /** Lines that are no record; they are kept as they are. */
  bad: number;
  /** Records that were saved from a torn or glued line. */
  recovered: number;
  /** Lines with bytes that are not UTF-8. */
  replaced: number;
  /** Lines that are too long to be read. */
  long: number;
  /** Files whose last line is not complete yet. */
  tails: number;
  /** Records whose parent is not there. */
  unlinked: number;
  /** Records with a time in the future. */
  future: number;
  /** Files that could not be read, and why. At most 100. */
  failed: FailedFile[];
}

export function newReport(source: string): ImportReport {
  return {
    source,
    files: 0,
    unchanged: 0,
    sessions: 0,
    turns: 0,
    forks: 0,
    blobs: 0,
    blobsShared: 0,
    asides: 0,
    bytesIn: 0,
    bytesStored: 0,
    bad: 0,
    recovered: 0,
    replaced: 0,
    long: 0,
    tails: 0,
    unlinked: 0,
    future: 0,
    failed: [],
  };
}

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
