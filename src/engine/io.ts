// File access as a port. The files engine reaches the disk only through it, so that tests can fail
// the Nth operation, tear writes, lie about syncs and crash anywhere.
//
// Contract
// - Errors are the operating system's: an `Error` with an errno `code` such as 'ENOSPC'.
// - `write` may be short and returns how much was taken; the caller treats a short write as a failure.
// - Nothing survives a power cut until `sync` of the file and, for a new, renamed or removed name,
//   `syncDir` of the folder have both returned.
// - Paths are absolute or relative to the process; the port gives them no meaning.

export interface IoFile {
  /** Fills `into` from `position`; returns the bytes read, fewer only at the end of the file. */
  read(into: Uint8Array, position: number): Promise<number>;
  /** Returns the bytes written, which may be fewer than given. */
  write(bytes: Uint8Array, position: number): Promise<number>;
  /**
   * `fdatasync`: content and length are on the disk when it returns. With `here` the calling thread does the sync
   * itself. That saves two trips between threads, for a caller that has nothing else to do.
   */
  sync(here?: boolean): Promise<void>;
  truncate(length: number): Promise<void>;
  size(): Promise<number>;
  close(): Promise<void>;
}

export interface IoStat {
  readonly kind: 'file' | 'folder' | 'other';
  readonly size: number;
  /** The time of the last change of content or name, by the file system's clock. Absent where there is none. */
  readonly changedMs?: number;
}

export interface IoLock {
  release(): Promise<void>;
}

export interface Io {
  /** `read` and `write` want an existing file (ENOENT otherwise); `create` makes it when missing. */
  open(path: string, mode: 'read' | 'write' | 'create'): Promise<IoFile>;
  /** Undefined when there is nothing at `path`. */
  stat(path: string): Promise<IoStat | undefined>;
  /** One level; an existing folder is fine. */
  mkdir(path: string): Promise<void>;
  /** Names in a folder, sorted. ENOENT when the folder is missing. */
  list(path: string): Promise<string[]>;
  rename(from: string, to: string): Promise<void>;
  /** A second name for a file, whose bytes are then shared. EEXIST when `to` is taken, EXDEV across devices. */
  link(from: string, to: string): Promise<void>;
  /** Removes a file; a missing one is fine. */
  remove(path: string): Promise<void>;
  /** Removes an empty folder (ENOTEMPTY otherwise); a missing one is fine. */
  removeFolder(path: string): Promise<void>;
  syncDir(path: string): Promise<void>;
  /** Room left for new bytes on the file system of `path`. */
  freeBytes(path: string): Promise<number>;
  /** The path with links resolved. A missing part counts as no link. Absent where there are no links. */
  realpath?(path: string): Promise<string>;
  /**
   * Takes the exclusive lock at `path`, held until `release` or the death of the process. Throws LOCKED, with the
   * text that the holder left in `owner`, when another process holds it.
   */
  lock(path: string, owner: string): Promise<IoLock>;
  /**
   * Resolves when everything that arrived together, on any connection, has been handled. Absent where nothing
   * arrives from outside: there a wait would only keep tests from mixing events of the same time.
   */
  endOfTurn?(): Promise<void>;
}
