import { PackKind, OPEN_FILE_HEADER_BYTES } from '../../../format/file-header.ts';
import type { IoFile } from '../../io.ts';
import { toQuipuError, unknownOutcome } from '../disk/io-error.ts';
import type { Journal } from '../journal/journal.ts';
import { packFile, PACKS_FOLDER, encodePackHeader, PACK_BYTES } from './pack-file.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { writeFully } from '../disk/file-handles.ts';
import type { PackTail } from '../truth/state.ts';

// Large blobs go directly to a pack of their own kind, with their own sync, before the frame that names them.
// Sending them through the journal would write every byte twice.
// Invariants
// - A bulk pack has one writer at a time, and bytes count only up to the tail that a frame gave it. Bytes beyond
//   the tail were left by an unfinished put, and the next put overwrites them. There is one exception: the outcome
//   of the frame that would make them count is unknown. Then no put begins any more, because the next opening may
//   find that frame, and must find the bytes that it names.

export interface BulkLease {
  readonly pack: number;
  readonly start: number;
  /** Appends bytes. `sync` makes everything so far durable, the file name included. */
  write(bytes: Uint8Array): Promise<void>;
  sync(): Promise<void>;
  /** The place of the next byte. */
  readonly position: number;
  release(): Promise<void>;
}

export class BulkPacks {
  readonly #files: StoreFiles;
  readonly #tails: () => readonly PackTail[];
  readonly #newPack: () => number;
  readonly #journal: Pick<Journal, 'broken' | 'breakDown'>;
  readonly #busy: Set<number> = new Set();

  constructor(
    files: StoreFiles,
    state: { tails: () => readonly PackTail[]; newPack: () => number },
    journal: Pick<Journal, 'broken' | 'breakDown'>,
  ) {
    this.#files = files;
    this.#tails = state.tails;
    this.#newPack = state.newPack;
    this.#journal = journal;
  }

  /** Keeps puts away from a pack while `work` runs. Returns false, and does nothing, when a put is writing to it. */
  async withoutPuts(number: number, work: () => Promise<void>): Promise<boolean> {
    if (this.#busy.has(number)) return false;
    this.#busy.add(number);
    try {
      await work();
    } finally {
      this.#busy.delete(number);
    }
    return true;
  }

  async lease(): Promise<BulkLease> {
    if (this.#journal.broken !== undefined) throw this.#journal.broken;
    const open = this.#tails().find(
      ({ bulk, number, length }) => bulk && length < PACK_BYTES && !this.#busy.has(number),
    );
    const number = open?.number ?? this.#newPack();
    this.#busy.add(number);
    try {
      const file = await this.#files.io.open(this.#files.pathOf(packFile(number)), 'create');
      const lease = new Lease(
        this.#files,
        { file, number, start: open?.length ?? 0 },
        {
          onFailedSync: (error, path) => this.#journal.breakDown(error, path),
          onRelease: () => this.#busy.delete(number),
        },
      );
      if (open === undefined) await this.#begin(lease);
      return lease;
    } catch (error) {
      this.#busy.delete(number);
      throw toQuipuError(error, this.#files.pathOf(packFile(number)));
    }
  }

  /** Removes a pack without its header: it would use room and a file handle for nothing. */
  async #begin(lease: Lease): Promise<void> {
    try {
      await lease.write(encodePackHeader(lease.pack, PackKind.bulk));
    } catch (error) {
      await lease.release();
      await this.#files.io.remove(this.#files.pathOf(packFile(lease.pack))).catch(() => undefined);
      throw error;
    }
  }
}

class Lease implements BulkLease {
  readonly pack: number;
  readonly start: number;
  readonly #files: StoreFiles;
  readonly #file: IoFile;
  readonly #onFailedSync: (error: unknown, path: string) => void;
  readonly #onRelease: () => void;
  #position: number;
  /** True while the file's name may not be durable in the folder. */
  #isNew: boolean;

  constructor(
    files: StoreFiles,
    at: { file: IoFile; number: number; start: number },
    hooks: { onFailedSync: (error: unknown, path: string) => void; onRelease: () => void },
  ) {
    this.#files = files;
    this.#file = at.file;
    this.pack = at.number;
    this.start = at.start;
    this.#position = at.start;
    this.#isNew = at.start < OPEN_FILE_HEADER_BYTES;
    this.#onFailedSync = hooks.onFailedSync;
    this.#onRelease = hooks.onRelease;
  }

  get position(): number {
    return this.#position;
  }

  async write(bytes: Uint8Array): Promise<void> {
    try {
      await writeFully(this.#file, bytes, this.#position);
    } catch (error) {
      throw toQuipuError(error, this.#files.pathOf(packFile(this.pack)));
    }
    this.#position += bytes.length;
  }

  async sync(): Promise<void> {
    const path = this.#files.pathOf(packFile(this.pack));
    try {
      await this.#file.sync();
      if (this.#isNew) await this.#files.io.syncDir(this.#files.pathOf(PACKS_FOLDER));
      this.#isNew = false;
    } catch (error) {
      this.#onFailedSync(error, path);
      throw unknownOutcome(error, path);
    }
  }

  async release(): Promise<void> {
    this.#onRelease();
    await this.#file.close();
  }
}
