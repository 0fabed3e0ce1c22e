import type { FailedFile } from './keep/failed-file.ts';

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
