// What the spool asks of a file system. A port, so that tests cut the power and fail any operation.
//
// Contract
// - Errors are the operating system's: an `Error` with an errno `code`.
// - A name survives a power cut after `syncFolder`; `writeSynced` returns when the content would.

export interface SpoolIo {
  /** Makes a new file readable by its owner alone (EEXIST otherwise), with this content on disk. */
  writeSynced(path: string, text: string): Promise<void>;
  /** Makes or replaces a file without any promise about power cuts. */
  writeSoon(path: string, text: string): Promise<void>;
  /** A second name for a file; EEXIST when the name is taken. */
  link(from: string, to: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file; false when there was none. */
  remove(path: string): Promise<boolean>;
  syncFolder(path: string): Promise<void>;
  /** Undefined when there is none. Empty for a folder, a pipe, or what is far too large to be a record. */
  read(path: string): Promise<string | undefined>;
  /** When it was written, in milliseconds; undefined when there is none. */
  writtenAt(path: string): Promise<number | undefined>;
  /** Names in a folder, sorted. */
  list(path: string): Promise<string[]>;
}
