import type { JournalWrite } from '../../../format/journal-frame.ts';

// Records that are rewritten in place again and again, such as the heads of contexts. The journal has every version
// of them. Their file needs only the last version, and only at a checkpoint. With 64 contexts written to in turn,
// writing each version took a tenth of the time of an append.

type BytesWrite = JournalWrite & { readonly kind: 'bytes' };

/** The last version of each record of one file. */
export class LateRecords {
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
