/** One call of an `Io` or of one of its files. */
export interface Operation {
  readonly name:
    | 'open'
    | 'stat'
    | 'mkdir'
    | 'list'
    | 'rename'
    | 'link'
    | 'remove'
    | 'removeFolder'
    | 'syncDir'
    | 'lock'
    | 'release'
    | 'read'
    | 'write'
    | 'sync'
    | 'truncate'
    | 'size'
    | 'close';
  readonly path: string;
  /** The mode of an open, the target of a rename, `<length>@<position>` of a read or write. */
  readonly detail?: string | undefined;
}

/** The listener that is told of each operation before it takes effect. Without a listener no operation is described. */
export interface Watch {
  tell?: ((operation: Operation) => void) | undefined;
}

/** Returns a text such as `write journal/a.wal 4096@0`. */
export function describeOperation({ name, path, detail }: Operation): string {
  return detail === undefined ? `${name} ${path}` : `${name} ${path} ${detail}`;
}

/** An error as the operating system gives it. */
export function errnoError(code: string, what: string): Error & { code: string } {
  return Object.assign(new Error(`${code}: ${what}`), { code });
}
