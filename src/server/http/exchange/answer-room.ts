import { QuipuError } from '../../../base/errors.ts';
import { ReadsAtOnce, PATIENCE_MS } from '../../memory/byte-budget.ts';
import type { AnswerMaker, ByteBudget } from '../../memory/byte-budget.ts';
import type { ServerResponse } from 'node:http';
import { encodeUtf8 } from '../../../base/text.ts';

// The memory that answers take, from when they are made until the client has them.
// Invariants
// - An answer that waits holds nothing. Answers of known size wait in one line, the others in another; each line is
//   first come, first served.
// - Answers of a known size hold `most` bytes together, or a single one holds more than that alone. One begins at each
//   turn of the event loop. Otherwise answers that find everything in memory would follow each other before anybody
//   else is served.
// - The size of an answer of the other kind is known when it is made. So few are made at a time when the last ones were
//   large, and none while the budget has no room for answers: those of the binary protocol count there, too.
// - While an answer waits, a client that takes nothing for `PATIENCE_MS` of an answer that holds room is cut off.

/** Smaller answers do not count: a connection has one at a time. */
export const LARGE_BYTES: number = 256 * 1024;
/** Answers of unknown size made at a time, however small the last ones were: the next one may be the largest. */
const MAKING_MAX = 4;

/** The client that asks for an answer. */
export interface Asker {
  readonly pace: Pace;
  readonly signal: AbortSignal;
}

interface Waiting {
  readonly fits: () => boolean;
  readonly begin: () => void;
}

export class AnswerRoom implements AnswerMaker {
  readonly #budget: ByteBudget;
  readonly #most: number;
  readonly #reads = new ReadsAtOnce(MAKING_MAX);
  readonly #holders = new Map<symbol, Pace>();
  readonly #known: Waiting[] = [];
  readonly #unknown: Waiting[] = [];
  #held = 0;
  #making = 0;
  #advancing = false;

  constructor(budget: ByteBudget, most: number) {
    this.#budget = budget;
    this.#most = most;
    budget.join(this);
  }

  get isWaiting(): boolean {
    return this.#known.length + this.#unknown.length > 0;
  }

  /** Waits for room for `bytes`; call the result when they have left. CLOSED when the client goes first. */
  async hold(bytes: number, asker: Asker): Promise<() => void> {
    await this.#wait(this.#known, asker.signal, {
      fits: () =>
        this.#held === 0 || (this.#held + bytes <= this.#most && this.#budget.hasAnswerRoom(bytes)),
      begin: () => this.#count(bytes),
    });
    return this.#holder(bytes, asker.pace);
  }

  /** Waits for a turn to make an answer of unknown size; call the result, with that size, when the answer is made. */
  async make({ signal }: Asker): Promise<(bytes?: number) => void> {
    await this.#wait(this.#unknown, signal, {
      fits: () => this.#making < this.#reads.count && this.#budget.hasAnswerRoom(1),
      begin: () => {
        this.#making += 1;
      },
    });
    let isOver = false;
    return (bytes) => {
      if (bytes !== undefined) this.#reads.note(bytes);
      if (isOver) return;
      isOver = true;
      this.#making -= 1;
      this.advance();
    };
  }

  /** Counts an answer that is made; call the result when the answer has left. */
  keep(bytes: number, pace: Pace): () => void {
    this.#count(bytes);
    return this.#holder(bytes, pace);
  }

  #holder(bytes: number, pace: Pace): () => void {
    const key = Symbol();
    this.#holders.set(key, pace);
    return () => {
      if (!this.#holders.delete(key)) return;
      this.#count(-bytes);
      this.advance();
    };
  }

  #count(bytes: number): void {
    this.#held += bytes;
    this.#budget.addAnswer(bytes);
  }

  async #wait(line: Waiting[], signal: AbortSignal, { fits, begin }: Waiting): Promise<void> {
    if (signal.aborted) throw gone();
    if (line === this.#unknown && line.length === 0 && fits()) {
      begin();
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        line.splice(line.indexOf(waiting), 1);
        reject(gone());
        this.advance();
      };
      const waiting: Waiting = {
        fits,
        begin: () => {
          signal.removeEventListener('abort', leave);
          begin();
          resolve();
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      line.push(waiting);
      this.advance();
      this.#budget.noteWaiting();
    });
  }

  /** Lets waiting answers begin if they fit, one of each kind at a turn of the event loop. */
  advance(): void {
    if (this.#advancing) return;
    this.#advancing = true;
    setImmediate(() => {
      this.#advancing = false;
      const began = [this.#known, this.#unknown].filter((line) => line[0]?.fits() === true);
      for (const line of began) line.shift()?.begin();
      if (began.length > 0) this.advance();
    });
  }

  cutStalled(): void {
    const nowMs = performance.now();
    for (const pace of this.#holders.values()) {
      if (pace.stalledMs(nowMs) > PATIENCE_MS) pace.cut();
    }
  }
}

function gone(): QuipuError<'CLOSED'> {
  return new QuipuError('CLOSED', 'the client went away before its answer was made', {
    what: 'request',
  });
}

/** The time for which answers may be sent before the server looks at what else there is to do. */
const STRETCH_MS = 10;

/**
 * The turns of all answers that are being sent. An answer that finds everything in memory, and whose client takes what
 * it gets, would otherwise be sent to its end before anybody else is served.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #sinceMs = 0;

  /** Resolves at once, or in a later round of the event loop when this round has taken long. */
  async next(): Promise<void> {
    if (performance.now() - this.#sinceMs < STRETCH_MS) return;
    await new Promise<void>((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(() => this.#begin());
    });
  }

  /** One answer goes on in each round. */
  #begin(): void {
    this.#sinceMs = performance.now();
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(() => this.#begin());
  }
}

/** The pace at which one client takes its answer. */
export class Pace {
  readonly #outgoing: ServerResponse;
  readonly #turns: Turns;
  #fullSinceMs: number | undefined;

  constructor(outgoing: ServerResponse, turns: Turns) {
    this.#outgoing = outgoing;
    this.#turns = turns;
  }

  /** The time for which the client has taken nothing although there was something to take. */
  stalledMs(nowMs: number): number {
    return this.#fullSinceMs === undefined ? 0 : nowMs - this.#fullSinceMs;
  }

  /** Resolves when all written bytes have left and others had their turn, or none can leave any more. */
  async drained(): Promise<void> {
    const outgoing = this.#outgoing;
    if (outgoing.destroyed) return;
    if (!outgoing.writableNeedDrain) return this.#turns.next();
    this.#fullSinceMs = performance.now();
    await new Promise<void>((resolve) => {
      const done = (): void => {
        outgoing.off('drain', done);
        outgoing.off('close', done);
        resolve();
      };
      outgoing.on('drain', done);
      outgoing.on('close', done);
    });
    this.#fullSinceMs = undefined;
    await this.#turns.next();
  }

  /** Cuts the client off: another client waits for the room. */
  cut(): void {
    this.#outgoing.socket?.destroy();
  }
}

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
   * Makes `bytes` bytes of the answer when there is room for them, and gives them in small parts. The parts are copies,
   * and the whole is dropped by name: generators keep the last value that passed through them, also while they wait.
   * Without this, each stream of large events held its last event while it waited for room for the next.
   */
  async *parts(
    bytes: number,
    make: () => Promise<Uint8Array>,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    // The answer no longer counts as one of unknown size.
    this.#made?.();
    const left = this.#part(await this.#room.hold(bytes, this.#asker));
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
