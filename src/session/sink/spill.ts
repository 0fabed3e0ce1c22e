import type { ArtifactDraft } from '../artifacts/artifact-draft.ts';
import { writeAll } from '../log/write-file.ts';
import { CappedWriter } from './capped-writer.ts';

// The whole output on its way to a file.
// Invariants
// - Pieces are written in the order they came in. At most one write is under way.
// - The first failure ends it: the file goes, later pieces are ignored, and the failed step is remembered.
// - Whoever waits for `room` holds at most `WAITING_BYTES_MAX` more than what is being written.

const WAITING_BYTES_MAX = 2 * 1024 * 1024;
/** Small pieces are joined up to this; larger ones are written as they are, without a copy. */
const WRITE_BYTES = 32 * 1024;

export type OpenSpill = () => Promise<ArtifactDraft>;

export interface SpillEnd {
  readonly artifactId?: string;
  /** Which step failed, and why. */
  readonly artifactError?: string;
}

export class Spill {
  readonly #open: OpenSpill;
  readonly #maxBytes: number;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
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

  push(bytes: Uint8Array): void {
    if (this.#isOver || bytes.length === 0) return;
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#working ??= this.#work();
  }

  /** Undefined while there is room; otherwise resolves once there is. */
  room(): Promise<void> | undefined {
    return this.#waitingBytes > WAITING_BYTES_MAX ? this.#working : undefined;
  }

  /** Writes what is left and gives the file its name. */
  end(): Promise<SpillEnd> {
    this.#ended ??= this.#finish();
    return this.#ended;
  }

  /** The file goes, wherever it has got to. */
  async abort(): Promise<void> {
    if (this.#ended !== undefined) return;
    this.#aborted = true;
    this.#waiting = [];
    await this.#working;
    this.#ended = Promise.resolve({});
    await this.#draft?.discard();
  }

  get #isOver(): boolean {
    return this.#error !== undefined || this.#aborted || this.#ended !== undefined;
  }

  async #work(): Promise<void> {
    try {
      await this.#step('open', async () => {
        this.#draft ??= await this.#open();
      });
      while (this.#waiting.length > 0 && this.#error === undefined && !this.#aborted) {
        const bytes = this.#takeWaiting();
        await this.#step('write', () => this.#write(bytes));
      }
    } finally {
      this.#working = undefined;
      if (this.#error !== undefined || this.#aborted) {
        this.#waiting = [];
        this.#waitingBytes = 0;
      }
    }
  }

  #takeWaiting(): Uint8Array {
    let bytes = 0;
    let count = 0;
    while (count < this.#waiting.length && bytes < WRITE_BYTES) {
      bytes += this.#waiting[count]?.length ?? 0;
      count++;
    }
    const taken = this.#waiting.splice(0, count);
    this.#waitingBytes -= bytes;
    const [only] = taken;
    return taken.length === 1 && only !== undefined ? only : Buffer.concat(taken);
  }

  async #write(bytes: Uint8Array): Promise<void> {
    if (this.#draft === undefined) return;
    if (this.#maxBytes > 0) {
      this.#writer ??= new CappedWriter(this.#draft, this.#maxBytes);
      await this.#writer.push(bytes);
      return;
    }
    await writeAll(this.#draft.file, bytes, this.#position);
    this.#position += bytes.length;
  }

  async #finish(): Promise<SpillEnd> {
    while (this.#working !== undefined) await this.#working;
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
      this.#error = `${name}: ${error instanceof Error ? error.message : String(error)}`;
      await this.#draft?.discard();
    }
  }
}
