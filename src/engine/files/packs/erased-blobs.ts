import type { Hash } from '../../../base/brand.ts';
import {
  BlobCodec,
  decodeErasedRecord,
  encodeBlobRecord,
  encodeErasedRecord,
  ERASED_RECORD_BYTES,
  type ErasedRecord,
} from '../../../format/blob-record.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import { corrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { BlobPlace } from '../index/shelf.ts';
import { type Check, lost } from '../truth/check.ts';
import type { StateWriter } from '../truth/state.ts';
import { packFile } from './pack-file.ts';

export const ERASED_FILE = 'blobs/erased.log';

const PAGE_RECORDS = 4096;

/** Reads all erasure records, oldest first, from record `from` on. Throws at a damaged record. */
export async function* readErased(files: StoreFiles, from = 0): AsyncGenerator<ErasedRecord> {
  for await (const { record, offset } of slotsOf(files, from)) {
    if (record === undefined) throw corrupt(ERASED_FILE, offset, 'the record here is damaged');
    yield record;
  }
}

interface ErasedSlot {
  readonly offset: number;
  /** Undefined when the record is damaged. */
  readonly record: ErasedRecord | undefined;
}

async function* slotsOf(files: StoreFiles, from: number): AsyncGenerator<ErasedSlot> {
  const count = Math.floor((await files.size(ERASED_FILE)) / ERASED_RECORD_BYTES);
  for (let first = from; first < count; first += PAGE_RECORDS) {
    const length = Math.min(PAGE_RECORDS, count - first) * ERASED_RECORD_BYTES;
    const bytes = await files.read(ERASED_FILE, first * ERASED_RECORD_BYTES, length);
    for (let at = 0; at < length; at += ERASED_RECORD_BYTES) {
      const record = decodeErasedRecord(bytes.subarray(at, at + ERASED_RECORD_BYTES));
      yield { record, offset: first * ERASED_RECORD_BYTES + at };
    }
  }
}

/** The hashes of all erased blobs. Erasing is rare, so they are few. */
export class ErasedBlobs implements Iterable<Hash> {
  readonly #hashes: Set<Hash> = new Set();
  #records = 0;

  static async load(files: StoreFiles): Promise<ErasedBlobs> {
    const erased = new ErasedBlobs();
    for await (const { record } of slotsOf(files, 0)) {
      if (record !== undefined) erased.#hashes.add(record.hash);
      erased.#records += 1;
    }
    return erased;
  }

  /** The place of the next record. */
  get fileBytes(): number {
    return this.#records * ERASED_RECORD_BYTES;
  }

  has(hash: Hash): boolean {
    return this.#hashes.size > 0 && this.#hashes.has(hash);
  }

  /** Counts each record: a blob that was put again can be erased again. */
  add(hash: Hash): void {
    this.#hashes.add(hash);
    this.#records += 1;
  }

  [Symbol.iterator](): Iterator<Hash> {
    return this.#hashes.values();
  }
}

/** Checks the records of erasures: with an unreadable record an erased blob could count as missing. */
export async function checkErased({ files, findings }: Check): Promise<void> {
  const bytes = await files.read(ERASED_FILE, 0, await files.size(ERASED_FILE));
  for (let offset = 0; offset < bytes.length; offset += ERASED_RECORD_BYTES) {
    const record = bytes.subarray(offset, offset + ERASED_RECORD_BYTES);
    if (decodeErasedRecord(record) !== undefined) continue;
    const what = 'this note of an erased blob is damaged';
    findings.add(lost(ERASED_FILE, offset, what, record.length));
  }
  await findings.breathe(bytes.length, 'erased');
}

/**
 * Overwrites records in place, all of them in one frame, and notes the erasure: backups follow these notes. The
 * index does not find the blobs there any more. Call this within `exclusively`.
 */
export async function overwriteRecords(
  writer: StateWriter,
  places: readonly BlobPlace[],
): Promise<void> {
  if (places.length === 0) return;
  const { core, nowMs } = writer;
  const writes: JournalWrite[] = [];
  const notes: Uint8Array[] = [];
  for (const { hash, pack, offset, rawLength, storedLength } of places) {
    const stored = new Uint8Array(storedLength);
    const data = encodeBlobRecord({ codec: BlobCodec.erased, rawLength, hash, stored });
    writes.push({ kind: 'bytes', path: packFile(pack), offset, data });
    const length = data.length;
    notes.push(encodeErasedRecord({ hash, pack, offset, length, erasedAt: nowMs }));
  }
  const data = Buffer.concat(notes);
  writes.push({ kind: 'bytes', path: ERASED_FILE, offset: core.erased.fileBytes, data });
  await writer.storeWrites(writes, () => {
    core.index.forgetBlobs(places);
    for (const { hash } of places) core.erased.add(hash);
    core.blobs.forget(places.map(({ hash }) => hash));
  });
}
