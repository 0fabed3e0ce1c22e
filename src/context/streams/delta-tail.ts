import type { TurnDelta } from '../../engine/batch.ts';

/**
 * Deltas waiting for one reader, up to a number of bytes. Beyond that they are dropped, and the reader is told to read
 * the turn instead. So a slow reader costs no more than that.
 */
export class DeltaTail {
  readonly #maxBytes: number;
  #deltas: TurnDelta[] = [];
  #bytes = 0;
  #mustRead = true;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(delta: TurnDelta): void {
    if (this.#mustRead) return;
    this.#deltas.push(delta);
    this.#bytes += delta.bytes.length;
    if (this.#bytes > this.#maxBytes) this.drop();
  }

  /** The reader must read the turn itself, because deltas were too many or because the turn was sealed. */
  drop(): void {
    this.#deltas = [];
    this.#bytes = 0;
    this.#mustRead = true;
  }

  /** Returns the deltas since the last call; undefined when the turn must be read, as it must the first time. */
  take(): readonly TurnDelta[] | undefined {
    const taken = this.#mustRead ? undefined : this.#deltas;
    this.#deltas = [];
    this.#bytes = 0;
    this.#mustRead = false;
    return taken;
  }
}

/** Returns the bytes of `deltas` that come after the first `have` bytes of the turn; undefined for a gap. */
export function bytesAfter(have: number, deltas: readonly TurnDelta[]): Uint8Array | undefined {
  const fresh: Uint8Array[] = [];
  let end = have;
  for (const { offset, bytes } of deltas) {
    if (offset > end) return undefined;
    if (offset + bytes.length <= end) continue;
    fresh.push(bytes.subarray(end - offset));
    end = offset + bytes.length;
  }
  return new Uint8Array(Buffer.concat(fresh));
}
