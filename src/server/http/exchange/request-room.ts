import { encodeUtf8 } from '../../../base/text.ts';
import { LARGE_BYTES } from './answer-room.ts';
import type { AnswerRoom, Asker } from './answer-room.ts';

/** Bytes written at a time, so that the server sees whether the client takes anything. */
export const PART_BYTES = 65_536;

const NO_BYTES = new Uint8Array();

const NOTHING = (): void => undefined;

interface Answer {
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
}

/** Bytes that have yet to be handed out. */
interface Whole {
  rest: Uint8Array;
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

  /** Makes an answer of unknown size, or a part of one, when its turn comes. */
  async make<A>(run: () => Promise<A> | A, size: (made: A) => number = sizeOf): Promise<A> {
    const made = await this.#room.make(this.#asker);
    this.#made = made;
    try {
      const reply = await run();
      made(size(reply));
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
    const whole: Whole = { rest: NO_BYTES };
    try {
      whole.rest = await make();
      yield* cut(whole);
    } finally {
      whole.rest = NO_BYTES;
      left();
    }
  }

  /**
   * Makes bytes of unknown size when their turn comes, and gives them in small parts. Returns false when there was
   * nothing to make.
   */
  async *made(
    make: () => Promise<Uint8Array | undefined> | Uint8Array,
  ): AsyncGenerator<Uint8Array, boolean, undefined> {
    const whole: Whole = { rest: NO_BYTES };
    const fill = async (): Promise<boolean> => {
      const made = await make();
      whole.rest = made ?? NO_BYTES;
      return made !== undefined;
    };
    let left: (() => void) | undefined;
    try {
      const isMade = await this.make(fill, () => whole.rest.length);
      left = this.keep(whole.rest.length);
      yield* cut(whole);
      return isMade;
    } finally {
      whole.rest = NO_BYTES;
      left?.();
    }
  }

  /** Gives texts of unknown size in small parts. The source is asked for a text when its turn comes. */
  async *texts(source: AsyncIterable<string>): AsyncGenerator<Uint8Array, void, undefined> {
    const iterator = source[Symbol.asyncIterator]();
    const pull = async (): Promise<Uint8Array | undefined> => {
      const next = await iterator.next();
      return next.done === true ? undefined : encodeUtf8(next.value);
    };
    try {
      while (yield* this.made(pull));
    } finally {
      await iterator.return?.();
    }
  }

  /** Counts an answer that was made as a whole. Of a large text only the bytes stay, in small parts. */
  whole<A extends Answer>(reply: A): A {
    const { body } = reply;
    const left = this.keep(sizeOf(reply));
    if (typeof body !== 'string' || body.length <= LARGE_BYTES) return reply;
    const whole: Whole = { rest: encodeUtf8(body) };
    async function* parts(): AsyncGenerator<Uint8Array, void, undefined> {
      yield* cut(whole);
      left();
    }
    return { ...reply, body: parts() };
  }

  /** Counts bytes that are made, until the client is gone or the result is called. */
  keep(bytes: number): () => void {
    return bytes > LARGE_BYTES ? this.#part(this.#room.keep(bytes, this.#asker.pace)) : NOTHING;
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

/** The bytes of an answer that is made as a whole. */
function sizeOf(reply: unknown): number {
  const body = typeof reply === 'object' && reply !== null && 'body' in reply ? reply.body : '';
  return typeof body === 'string' || body instanceof Uint8Array ? body.length : 0;
}

function* cut(whole: Whole): Generator<Uint8Array, void, undefined> {
  while (whole.rest.length > 0) {
    const part = Buffer.from(whole.rest.subarray(0, PART_BYTES));
    whole.rest = whole.rest.subarray(PART_BYTES);
    yield part;
  }
}
