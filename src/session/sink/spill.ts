import { messageOf } from '../../base/errors.ts';
import type { IoFile } from '../../engine/io.ts';
import type { ArtifactDraft } from '../artifacts/artifacts.ts';
import { writeAll } from '../files/write-file.ts';
import { formatSize, headOf, wholeFrom } from './output-window.ts';

// Writes the whole output to a file.
// Invariants
// - Bytes are written in the order they came in. At most one write is under way.
// - The first failure ends the spill: the file is removed, later bytes are ignored, and the failed step is remembered.
// - A caller that waits for `room` fills one block while another one is written, and holds no third.

const FIRST_BLOCK_BYTES = 128 * 1024;
/** More than is written on the calling thread: the disk works while the next block is filled. */
const BLOCK_BYTES = 1024 * 1024;

export type OpenSpill = () => Promise<ArtifactDraft>;

export interface SpillEnd {
  readonly artifactId?: string;
  /** The step that failed, and the reason. */
  readonly artifactError?: string;
}

export class Spill {
  readonly #open: OpenSpill;
  readonly #maxBytes: number;
  #block: Buffer | undefined;
  #filled = 0;
  /** A block that was written, to be filled again. */
  #spare: Buffer | undefined;
  #full: Buffer[] = [];
  /** The step that is under way. */
  #stepping: Promise<void> | undefined;
  #working: Promise<void> | undefined;
  #draft: ArtifactDraft | undefined;
  #writer: CappedWriter | undefined;
  #position = 0;
  #error: string | undefined;
  #ended: Promise<SpillEnd> | undefined;
  #aborted = false;

  /** `maxBytes` 0: no limit. */
  constructor(open: OpenSpill, maxBytes: number) {
    this.#open = open;
    this.#maxBytes = maxBytes;
  }

  /** Copies the bytes: the caller may reuse them at once. */
  push(bytes: Uint8Array): void {
    if (this.#isOver) return;
    for (let at = 0; at < bytes.length;) {
      this.#block ??= this.#takeBlock();
      const taken = bytes.subarray(at, at + this.#block.length - this.#filled);
      this.#block.set(taken, this.#filled);
      this.#filled += taken.length;
      at += taken.length;
      if (this.#filled === this.#block.length) this.#closeBlock();
    }
    this.#working ??= this.#work();
  }

  /** Undefined while there is room; otherwise resolves once there is. */
  room(): Promise<void> | undefined {
    return this.#full.length > 0 ? this.#stepping : undefined;
  }

  /** Writes the rest and gives the file its name. */
  end(): Promise<SpillEnd> {
    this.#ended ??= this.#finish();
    return this.#ended;
  }

  /** Removes the file, whatever its state. */
  async abort(): Promise<void> {
    if (this.#ended !== undefined) return;
    this.#aborted = true;
    this.#drop();
    await this.#working;
    this.#ended = Promise.resolve({});
    await this.#draft?.discard();
  }

  get #isOver(): boolean {
    return this.#error !== undefined || this.#aborted || this.#ended !== undefined;
  }

  #takeBlock(): Buffer {
    const spare = this.#spare;
    this.#spare = undefined;
    // Most outputs are small, and do not need the larger block with which a large one is faster.
    const isFirst = this.#position === 0 && this.#full.length === 0;
    return spare ?? Buffer.allocUnsafeSlow(isFirst ? FIRST_BLOCK_BYTES : BLOCK_BYTES);
  }

  #closeBlock(): void {
    if (this.#block !== undefined) this.#full.push(this.#block.subarray(0, this.#filled));
    this.#block = undefined;
    this.#filled = 0;
  }

  #drop(): void {
    this.#block = undefined;
    this.#spare = undefined;
    this.#filled = 0;
    this.#full = [];
  }

  async #work(): Promise<void> {
    this.#stepping = this.#step('open', async () => {
      this.#draft ??= await this.#open();
    });
    await this.#stepping;
    for (let block = this.#full.shift(); block !== undefined; block = this.#full.shift()) {
      const bytes = block;
      this.#stepping = this.#step('write', () => this.#write(bytes));
      await this.#stepping;
      if (bytes.length === BLOCK_BYTES) this.#spare = bytes;
    }
    this.#working = undefined;
    if (this.#error !== undefined || this.#aborted) this.#drop();
  }

  async #write(bytes: Uint8Array): Promise<void> {
    if (this.#draft === undefined) return;
    if (this.#maxBytes > 0) {
      this.#writer ??= new CappedWriter(this.#draft, this.#maxBytes);
      await this.#writer.push(bytes);
    } else {
      await writeAll(this.#draft.file, bytes, this.#position);
    }
    this.#position += bytes.length;
  }

  async #finish(): Promise<SpillEnd> {
    while (this.#working !== undefined) await this.#working;
    this.#closeBlock();
    await this.#work();
    await this.#step('flush', async () => this.#writer?.end());
    await this.#step('close', async () => this.#draft?.publish());
    if (this.#error !== undefined) return { artifactError: this.#error };
    return this.#draft === undefined ? {} : { artifactId: this.#draft.id };
  }

  async #step(name: string, act: () => Promise<void>): Promise<void> {
    if (this.#error !== undefined || this.#aborted) return;
    try {
      await act();
    } catch (error) {
      this.#error = `${name}: ${messageOf(error)}`;
      await this.#draft?.discard();
    }
  }
}

const COPY_BYTES = 256 * 1024;

/**
 * Writes a file that keeps the beginning and the end of a stream within a limit. A second file holds the end as a ring,
 * so that memory stays bounded whatever the limit; `end` puts the two together.
 */
class CappedWriter {
  readonly #draft: ArtifactDraft;
  readonly #headLimit: number;
  readonly #ringBytes: number;
  #head = 0;
  #headClosed = false;
  #ring: IoFile | undefined;
  /** Bytes that went into the ring so far. */
  #ringed = 0;

  constructor(draft: ArtifactDraft, maxBytes: number) {
    this.#draft = draft;
    this.#headLimit = Math.floor(maxBytes / 2);
    this.#ringBytes = maxBytes - this.#headLimit;
  }

  async push(bytes: Uint8Array): Promise<void> {
    let rest = bytes;
    if (!this.#headClosed) {
      const taken = headOf(bytes, this.#headLimit - this.#head);
      await writeAll(this.#draft.file, taken, this.#head);
      this.#head += taken.length;
      rest = bytes.subarray(taken.length);
      this.#headClosed = rest.length > 0;
    }
    if (rest.length === 0) return;
    this.#ring ??= await this.#draft.scratch();
    // Only the last round of a large piece would stay.
    const skipped = Math.max(0, rest.length - this.#ringBytes);
    this.#ringed += skipped;
    await this.#writeRing(this.#ring, rest.subarray(skipped));
  }

  async end(): Promise<void> {
    if (this.#ring === undefined) return;
    const kept = Math.min(this.#ringed, this.#ringBytes);
    const dropped = this.#ringed - kept;
    const start = dropped === 0 ? 0 : this.#ringed % this.#ringBytes;
    let position = this.#head;
    let isFirst = dropped > 0;
    for await (const piece of readRing(this.#ring, { start, kept, ringBytes: this.#ringBytes })) {
      const bytes = isFirst ? wholeFrom(piece) : piece;
      if (isFirst) {
        const cut = piece.length - bytes.length;
        const notice = this.#notice({ kept: kept - cut, dropped: dropped + cut });
        await writeAll(this.#draft.file, notice, position);
        position += notice.length;
        isFirst = false;
      }
      await writeAll(this.#draft.file, bytes, position);
      position += bytes.length;
    }
  }

  #notice({ kept, dropped }: { kept: number; dropped: number }): Uint8Array {
    const total = this.#head + kept + dropped;
    const sizes = `kept first ${formatSize(this.#head)} + last ${formatSize(kept)} of ${formatSize(total)}`;
    return Buffer.from(
      `\n[ARTIFACT TRUNCATED: ${sizes}; ${formatSize(dropped)} elided from the middle]\n`,
    );
  }

  async #writeRing(ring: IoFile, bytes: Uint8Array): Promise<void> {
    const at = this.#ringed % this.#ringBytes;
    const upToEnd = bytes.subarray(0, this.#ringBytes - at);
    await writeAll(ring, upToEnd, at);
    if (upToEnd.length < bytes.length) await writeAll(ring, bytes.subarray(upToEnd.length), 0);
    this.#ringed += bytes.length;
  }
}

async function* readRing(
  ring: IoFile,
  { start, kept, ringBytes }: { start: number; kept: number; ringBytes: number },
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let read = 0; read < kept;) {
    const at = (start + read) % ringBytes;
    const piece = Buffer.alloc(Math.min(COPY_BYTES, kept - read, ringBytes - at));
    const got = await ring.read(piece, at);
    if (got < piece.length) throw new RangeError('the end of the output is cut short');
    yield piece;
    read += got;
  }
}
