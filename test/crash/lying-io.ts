import type { Io, IoFile } from '../../src/engine/io.ts';

// A disk that lies stands for an engine that forgets: an engine whose syncs do nothing is one that does
// not sync. Each lie makes a known bug of its kind, and the rig must notice every one.

/** What becomes of a call on a file; what is not named goes through. */
export interface Lies {
  sync?(file: IoFile, path: string): Promise<void>;
  write?(file: IoFile, path: string, at: { bytes: Uint8Array; position: number }): Promise<number>;
  read?(file: IoFile, path: string, at: { into: Uint8Array; position: number }): Promise<number>;
}

export function lyingIo(io: Io, lies: Lies): Io {
  return {
    async open(path, mode) {
      const file = await io.open(path, mode);
      return lyingFile(file, path, lies);
    },
    stat: (path) => io.stat(path),
    mkdir: (path) => io.mkdir(path),
    list: (path) => io.list(path),
    rename: (from, to) => io.rename(from, to),
    link: (from, to) => io.link(from, to),
    remove: (path) => io.remove(path),
    removeFolder: (path) => io.removeFolder(path),
    syncDir: (path) => io.syncDir(path),
    freeBytes: (path) => io.freeBytes(path),
    lock: (path, owner) => io.lock(path, owner),
  };
}

function lyingFile(file: IoFile, path: string, lies: Lies): IoFile {
  return {
    read: (into, position) =>
      lies.read?.(file, path, { into, position }) ?? file.read(into, position),
    write: (bytes, position) =>
      lies.write?.(file, path, { bytes, position }) ?? file.write(bytes, position),
    sync: () => lies.sync?.(file, path) ?? file.sync(),
    truncate: (length) => file.truncate(length),
    size: () => file.size(),
    close: () => file.close(),
  };
}

const isJournal = (path: string): boolean => path.endsWith('.wal');
const isMark = (path: string): boolean => path.endsWith('/mark');

type Lie =
  | 'noJournalSync'
  | 'noFileSync'
  | 'goesOnAfterFailedSync'
  | 'ignoresShortWrites'
  | 'cutsAtFirstBadFrame'
  | 'neverMarks'
  | 'neverApplies';

export const LIES: Readonly<Record<Lie, Lies>> = {
  noJournalSync: {
    sync: async (file, path) => (isJournal(path) ? undefined : file.sync()),
  },
  noFileSync: {
    sync: async (file, path) => (path.includes('/journal/') ? file.sync() : undefined),
  },
  goesOnAfterFailedSync: {
    sync: async (file) => file.sync().catch(() => undefined),
  },
  ignoresShortWrites: {
    async write(file, _, { bytes, position }) {
      await file.write(bytes, position);
      return bytes.length;
    },
  },
  /** Later frames are looked for by reading a segment from its start; the mark tells of them, too. */
  cutsAtFirstBadFrame: {
    async read(file, path, { into, position }) {
      const got = await file.read(into, position);
      const looksAhead = isJournal(path) && position === 0 && into.length > 4096;
      if (looksAhead || isMark(path)) into.fill(0);
      return got;
    },
  },
  neverMarks: {
    write: async (file, path, { bytes, position }) =>
      isMark(path) ? bytes.length : file.write(bytes, position),
  },
  /** Leaves a turn in the journal, and never writes it to its file. */
  neverApplies: {
    write: async (file, path, { bytes, position }) =>
      path.endsWith('/turns.log') && position > 0 ? bytes.length : file.write(bytes, position),
  },
};
