import type { JournalWrite } from '../../../format/journal-frame.ts';

// Data that is durable in the journal and has not reached its place yet is *waiting*. Every other word for that state
// (late, pending) is out of use. Three layers hold waiting data. Reads look through each of them, so nobody can
// tell. The journal has everything that they hold, and a checkpoint empties them before it lets the journal go.
//
//   waiting writes   writes of durable frames that a full disk did not take. They are tried again before the next
//                    frame is stored.                                              StoreFiles, functions below
//   waiting heads    the newest version of each head. Their file gets it at a checkpoint.
//                                                                                  StoreFiles, `WaitingRecords` below
//   waiting entries  entries of the index that are in no run yet. They are written when many have gathered.
//                                                                                  `Memtable` in ../index/store-index.ts
//
// A read of a file takes the file, lays the waiting heads over it, and then the waiting writes, which are newer.

type BytesWrite = JournalWrite & { readonly kind: 'bytes' };

/** The file of heads, whose records are rewritten in place again and again. */
export const WAITING_FILE = 'turns/heads.tbl';

/** Brings `into`, which holds `got` bytes of the file `name` from `position` on, up to date. */
export function readThrough(
  waiting: readonly JournalWrite[],
  name: string,
  { into, position, got }: { into: Uint8Array; position: number; got: number },
): number {
  let filled = got;
  for (const write of waiting) {
    if (write.path !== name) continue;
    if (write.kind === 'remove' || write.kind === 'whole') filled = 0;
    if (write.kind === 'remove' || write.kind === 'extent') continue;
    const offset = write.kind === 'whole' ? 0 : write.offset;
    const end = Math.min(into.length, offset + write.data.length - position);
    if (end > filled) {
      // Where a file grows without a write, the new bytes read as zeros.
      into.fill(0, filled, end);
      filled = end;
    }
    const from = Math.max(position, offset);
    const to = Math.min(position + into.length, offset + write.data.length);
    if (from < to) {
      into.set(write.data.subarray(from - offset, to - offset), from - position);
    }
  }
  return filled;
}

/** The sorted names in a folder, which has `names` now, once all waiting writes are done. */
export function namesThrough(
  waiting: readonly JournalWrite[],
  folder: string,
  names: readonly string[],
): string[] {
  const through = new Set(names);
  for (const { kind, path } of waiting) {
    if (!path.startsWith(`${folder}/`)) continue;
    const [name = '', ...below] = path.slice(folder.length + 1).split('/');
    if (kind === 'bytes' || kind === 'whole') through.add(name);
    // A folder stays when its files are removed.
    if (kind === 'remove' && below.length === 0) through.delete(name);
  }
  return [...through].sort();
}

/** The size of the file `name`, which has `size` bytes now, once all waiting writes are done. */
export function sizeThrough(waiting: readonly JournalWrite[], name: string, size: number): number {
  let reached = size;
  for (const write of waiting) {
    if (write.path !== name) continue;
    if (write.kind === 'remove') reached = 0;
    if (write.kind === 'whole') reached = write.data.length;
    if (write.kind === 'bytes') reached = Math.max(reached, write.offset + write.data.length);
  }
  return reached;
}

/**
 * Records of one file that are rewritten in place again and again, such as the heads of contexts. The journal has
 * every version of them. Their file needs only the last version, and only at a checkpoint. With 64 contexts written
 * to in turn, writing each version took a tenth of the time of an append.
 */
export class WaitingRecords {
  readonly #path: string;
  readonly #recordBytes: number;
  readonly #records: Map<number, Uint8Array> = new Map();

  constructor(path: string, recordBytes: number) {
    this.#path = path;
    this.#recordBytes = recordBytes;
  }

  get count(): number {
    return this.#records.size;
  }

  /** True for whole records of this file. */
  takes(write: JournalWrite): write is BytesWrite {
    if (write.kind !== 'bytes' || write.path !== this.#path) return false;
    return write.offset % this.#recordBytes === 0 && write.data.length % this.#recordBytes === 0;
  }

  add({ offset, data }: BytesWrite): void {
    for (let at = 0; at < data.length; at += this.#recordBytes) {
      // The bytes are copied: a view would keep the whole frame in memory.
      this.#records.set(offset + at, new Uint8Array(data.subarray(at, at + this.#recordBytes)));
    }
  }

  /** The records as writes, with neighbours joined. */
  writes(): BytesWrite[] {
    const sorted = [...this.#records].sort(([a], [b]) => a - b);
    const writes: BytesWrite[] = [];
    for (let start = 0; start < sorted.length;) {
      const offset = sorted[start]?.[0] ?? 0;
      let end = start + 1;
      while (sorted[end]?.[0] === offset + (end - start) * this.#recordBytes) end += 1;
      const data = Buffer.concat(sorted.slice(start, end).map(([, bytes]) => bytes));
      writes.push({ kind: 'bytes', path: this.#path, offset, data });
      start = end;
    }
    return writes;
  }

  /** Forgets records that reached the file, unless a newer version arrived meanwhile. */
  drop({ offset, data }: BytesWrite): void {
    for (let at = 0; at < data.length; at += this.#recordBytes) {
      const bytes = this.#records.get(offset + at);
      if (bytes === undefined) continue;
      if (Buffer.compare(bytes, data.subarray(at, at + this.#recordBytes)) === 0) {
        this.#records.delete(offset + at);
      }
    }
  }
}
