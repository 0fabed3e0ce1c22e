import type { FileMagic } from '../../../format/file-header.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import { corrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { type Check, type Found, lost } from './check.ts';
import { breathe, type CopyJob } from './copy.ts';
import type { OwnFile, Rebuild } from './truth.ts';
import type { Area, Tails } from './state.ts';

// A file of records of one size. Record n is at n times that size, from 1 on, and the header of the file stands in the
// place of record 0. The tail of the file is the first number that is not in use.

/** Small enough that a piece is read at once on the calling thread: no slot is ever seen half written. */
const CHECKED_RECORDS = 512;

/**
 * So few that a piece of heads has 64 KiB and is read at once. A slower read would be repeated each time a head
 * moves meanwhile.
 */
const PIECE_RECORDS = 1024;

interface RecordKind<R> {
  readonly name: string;
  readonly magic: FileMagic;
  readonly bytes: number;
  /** The tail that counts the records. */
  readonly tail: 'nextTurn' | 'nextContext' | 'nextPatch' | 'nextAlias';
  /** What a record is, for messages: `the record of turn`. */
  readonly what: string;
  decode(bytes: Uint8Array): R | undefined;
  /** Whether the record says itself that this is its number. */
  has(record: R, number: number): boolean;
}

/** A record and its place. `record` is missing where the bytes are not an intact one. */
interface Numbered<R> {
  readonly number: number;
  readonly record: R | undefined;
}

interface CopiedRange {
  readonly first?: number;
  readonly next?: number;
  /** True for a slot that has no record at the moment that is copied. */
  readonly isEmpty?: (number: number) => boolean;
}

export class RecordFile<R> {
  readonly name: string;
  readonly bytes: number;
  readonly own: OwnFile;
  readonly #kind: RecordKind<R>;

  constructor(kind: RecordKind<R>) {
    const { name, magic, bytes } = kind;
    this.name = name;
    this.bytes = bytes;
    this.own = { name, header: { magic, recordBytes: bytes } };
    this.#kind = kind;
  }

  lengthBy(tails: Tails): readonly [string, number] {
    return [this.name, tails[this.#kind.tail] * this.bytes];
  }

  /** The tails after one more write to this file. */
  advance(tails: Tails, write: JournalWrite): Tails {
    if (write.kind !== 'bytes') return tails;
    const { tail } = this.#kind;
    const next = (write.offset + write.data.length) / this.bytes;
    return { ...tails, [tail]: Math.max(tails[tail], next) };
  }

  /** The intact records in a write to this file. */
  *inWrite(write: JournalWrite): Generator<R> {
    if (write.kind !== 'bytes') return;
    for (let at = 0; at + this.bytes <= write.data.length; at += this.bytes) {
      const record = this.#kind.decode(write.data.subarray(at, at + this.bytes));
      if (record !== undefined) yield record;
    }
  }

  readBytes(files: StoreFiles, first: number, count = 1): Promise<Uint8Array> {
    return files.read(this.name, first * this.bytes, count * this.bytes);
  }

  /** Undefined when the bytes are not record `number`. */
  decode(bytes: Uint8Array, number: number): R | undefined {
    const record = this.#kind.decode(bytes);
    return record !== undefined && this.#kind.has(record, number) ? record : undefined;
  }

  async read(files: StoreFiles, number: number): Promise<R | undefined> {
    return this.decode(await this.readBytes(files, number), number);
  }

  /** Reads a record that has been handed out: an unreadable one is damage. */
  async mustRead(files: StoreFiles, number: number): Promise<R> {
    const record = await this.read(files, number);
    if (record !== undefined) return record;
    throw this.damaged(number);
  }

  damaged(number: number, state = 'damaged'): Error {
    return corrupt(this.name, number * this.bytes, `${this.#kind.what} ${number} is ${state}`);
  }

  /** Yields the records from 1 up to `next`, in pieces that are decoded in a millisecond or two. */
  async *pages(files: StoreFiles, next: number): AsyncGenerator<readonly Numbered<R>[]> {
    for (let first = 1; first < next; first += PIECE_RECORDS) {
      yield this.#page(files, first, Math.min(next, first + PIECE_RECORDS), () => true);
    }
  }

  /** Yields the wanted records below `next`, newest first. */
  async *pagesBack(
    files: StoreFiles,
    next: number,
    isWanted: (number: number) => boolean = () => true,
  ): AsyncGenerator<readonly Numbered<R>[]> {
    for (let end = next; end > 1; end -= PIECE_RECORDS) {
      const page = await this.#page(files, Math.max(1, end - PIECE_RECORDS), end, isWanted);
      yield page.reverse();
    }
  }

  async #page(
    files: StoreFiles,
    first: number,
    end: number,
    isWanted: (number: number) => boolean,
  ): Promise<Numbered<R>[]> {
    const bytes = await this.readBytes(files, first, end - first);
    const page: Numbered<R>[] = [];
    for (let number = first; number < end; number += 1) {
      if (!isWanted(number)) continue;
      const at = (number - first) * this.bytes;
      page.push({ number, record: this.decode(bytes.subarray(at, at + this.bytes), number) });
    }
    return page;
  }

  /** Calls back for the bytes of every record that the snapshot covers. */
  async check(
    { files, findings, snapshot }: Check,
    what: string,
    onRecord: (bytes: Uint8Array, number: number) => Promise<void> | void,
  ): Promise<void> {
    const next = snapshot.tails[this.#kind.tail];
    for (let first = 1; first < next; first += CHECKED_RECORDS) {
      const count = Math.min(CHECKED_RECORDS, next - first);
      const piece = await this.readBytes(files, first, count);
      for (let at = 0; at < count; at += 1) {
        const bytes = piece.subarray(at * this.bytes, (at + 1) * this.bytes);
        const work = onRecord(bytes, first + at);
        if (work !== undefined) await work;
      }
      await findings.breathe(piece.length, what);
    }
  }

  /** Copies what the copy lacks, or the records from number `first` up to `next`. Each is checked, unless it is there. */
  async copy(
    { from, into, progress, earlier, tails }: CopyJob,
    {
      first = earlier.tails[this.#kind.tail],
      next = tails[this.#kind.tail],
      isEmpty = () => false,
    }: CopiedRange = {},
  ): Promise<void> {
    for (let at = first; at < next; at += PIECE_RECORDS) {
      const count = Math.min(PIECE_RECORDS, next - at);
      const piece = Buffer.alloc(count * this.bytes);
      piece.set(await this.readBytes(from, at, count));
      const isKnown = await into.shows(this.name, at * this.bytes, piece);
      for (let index = 0; index < count && !isKnown; index += 1) {
        const record = piece.subarray(index * this.bytes, (index + 1) * this.bytes);
        // The record may have come since.
        if (isEmpty(at + index)) record.fill(0);
        else if (this.decode(record, at + index) === undefined) throw this.damaged(at + index);
      }
      if (!isKnown) await into.put(this.name, at * this.bytes, piece);
      progress?.(at + count - first, next - first, this.name);
      await breathe();
    }
  }

  /** A problem with a record. `inRecord`: its bytes are damaged themselves. */
  problem(number: number, what: string, inRecord = true): Found {
    const length = inRecord ? this.bytes : 0;
    return { ...lost(this.name, number * this.bytes, what, length), id: String(number) };
  }

  /** Indexes the file. `take` gets each record that can be read, and returns false for damage. */
  async rebuild(
    { files, tails, damage, index, progress }: Rebuild,
    area: Area,
    take: (record: R | undefined, number: number) => boolean,
  ): Promise<void> {
    const next = tails[this.#kind.tail];
    for (let first = 1; first < next; first += PIECE_RECORDS) {
      const count = Math.min(PIECE_RECORDS, next - first);
      const piece = await this.readBytes(files, first, count);
      for (let at = 0; at < count; at += 1) {
        const bytes = piece.subarray(at * this.bytes, (at + 1) * this.bytes);
        const number = first + at;
        if (take(this.#kind.decode(bytes), number)) continue;
        const offset = number * this.bytes;
        damage.add({ area, file: this.name, offset, what: `record ${number} is damaged` });
      }
      index.maybeFlush();
      progress?.(first + count - 1, next - 1, area);
    }
  }
}
