// The operations that the spool needs of a file system. This is a port, so that tests cut the power and fail any
// operation.
//
// Contract
// - Errors are the operating system's: an `Error` with an errno `code`.
// - A name survives a power cut after `syncFolder`; `writeSynced` returns when the content would.

export interface SpoolIo {
  /** Makes a new file readable by its owner alone (EEXIST otherwise), with this content on disk. */
  writeSynced(path: string, text: string): Promise<void>;
  /** Makes or replaces a file without any promise about power cuts. */
  writeSoon(path: string, text: string): Promise<void>;
  /** Adds a second name for a file. Fails with EEXIST when the name is taken. */
  link(from: string, to: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file. Returns false when there was none. */
  remove(path: string): Promise<boolean>;
  syncFolder(path: string): Promise<void>;
  /**
   * Returns undefined when there is no file. Returns an empty text for a folder, a pipe, or a file far too large to be
   * a record.
   */
  read(path: string): Promise<string | undefined>;
  /** The time of the last write, in milliseconds; undefined when there is no file. */
  writtenAt(path: string): Promise<number | undefined>;
  /** Names in a folder, sorted. */
  list(path: string): Promise<string[]>;
}
