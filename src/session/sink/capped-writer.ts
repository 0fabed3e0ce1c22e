import type { IoFile } from '../../engine/io.ts';
import type { ArtifactDraft } from '../artifacts/artifact-draft.ts';
import { writeAll } from '../log/write-file.ts';
import { formatSize } from './format-size.ts';
import { headOf, wholeFrom } from './utf8-cut.ts';

const COPY_BYTES = 256 * 1024;

/**
 * Writes a file that keeps the beginning and the end of a stream within a limit. A second file holds the end as a ring,
 * so that memory stays bounded whatever the limit; `end` puts the two together.
 */
export class CappedWriter {
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
