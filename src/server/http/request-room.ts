import { LARGE_BYTES } from './answer-room.ts';
import type { AnswerRoom, Asker } from './answer-room.ts';

/** Bytes written at a time, so that the server sees whether the client takes anything. */
export const PART_BYTES = 65_536;

const NO_BYTES = new Uint8Array();

interface Answer {
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
}

/** The memory that the answer to one request takes. */
export class RequestRoom {
  readonly #room: AnswerRoom;
  readonly #asker: Asker;
  /** Functions to call when parts of the answer have left. */
  readonly #parts = new Set<() => void>();
  #made: ((bytes?: number) => void) | undefined;

  constructor(room: AnswerRoom, asker: Asker) {
    this.#room = room;
    this.#asker = asker;
    // This also covers parts that were made and never sent.
    asker.signal.addEventListener('abort', () => {
      for (const left of this.#parts) left();
    });
  }

  /** Makes an answer of unknown size when its turn comes. */
  async make<A extends Answer>(run: () => Promise<A> | A): Promise<A> {
    const made = await this.#room.make(this.#asker);
    this.#made = made;
    try {
      const reply = await run();
      made(sizeOf(reply));
      return reply;
    } finally {
      made();
    }
  }

  /**
   * Waits for room for a part of the answer that takes `bytes`; call the result when the part has left. The answer then
   * no longer counts as one of unknown size.
   */
  async hold(bytes: number): Promise<() => void> {
    this.#made?.();
    return this.#part(await this.#room.hold(bytes, this.#asker));
  }

  /**
   * Makes `bytes` bytes of the answer when there is room for them, and gives them in small parts. The parts are copies,
   * and the whole is dropped by name: generators keep the last value that passed through them, also while they wait.
   * Without this, each stream of large events held its last event while it waited for room for the next.
   */
  async *parts(
    bytes: number,
    make: () => Promise<Uint8Array>,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const left = await this.hold(bytes);
    const whole: { rest: Uint8Array } = { rest: NO_BYTES };
    try {
      whole.rest = await make();
      while (whole.rest.length > 0) {
        const part = Buffer.from(whole.rest.subarray(0, PART_BYTES));
        whole.rest = whole.rest.subarray(PART_BYTES);
        yield part;
      }
    } finally {
      whole.rest = NO_BYTES;
      left();
    }
  }

  /** Counts an answer that is made, until the client has it or is gone. */
  keep(reply: Answer): void {
    const size = sizeOf(reply);
    if (size > LARGE_BYTES) this.#part(this.#room.keep(size, this.#asker.pace));
  }

  #part(release: () => void): () => void {
    const left = (): void => {
      if (this.#parts.delete(left)) release();
    };
    this.#parts.add(left);
    if (this.#asker.signal.aborted) left();
    return left;
  }
}

function sizeOf({ body }: Answer): number {
  return typeof body === 'string' || body instanceof Uint8Array ? body.length : 0;
}
