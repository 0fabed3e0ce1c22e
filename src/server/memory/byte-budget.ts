// The memory that the connections of a server take together, in both protocols.
// Invariants
// - Bytes count from when the server has them until it lets go of them: requests until they are answered, answers from
//   when they are made until the client has them.
// - While answers hold `answersMost` bytes, no further answer is made, except one that is alone.
// - While an answer waits for room, a client that takes nothing of an answer that holds room is cut off.

const MIB = 1024 * 1024;
/** The budget of one server, unless the server was given another. */
export const TOTAL_BYTES: number = 512 * MIB;
/** Bytes of answers that are made and not taken. */
const ANSWER_BYTES: number = 128 * MIB;
/** A client that takes nothing of its answer for this long is cut off, if somebody waits for the room. */
export const PATIENCE_MS = 2000;
const LOOK_MS = 500;

/** One protocol of the server, with the answers that it makes. */
export interface AnswerMaker {
  /** True while an answer waits for room. */
  readonly isWaiting: boolean;
  /** Called when there may be room again. */
  advance(): void;
  /** Called again and again while any answer waits. */
  cutStalled(): void;
}

/** Counts the bytes that all connections of a server hold together. */
export class ByteBudget {
  readonly #most: number;
  readonly #answersMost: number;
  readonly #makers: AnswerMaker[] = [];
  #held = 0;
  #answers = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(most: number = TOTAL_BYTES, answersMost: number = ANSWER_BYTES) {
    this.#most = most;
    this.#answersMost = answersMost;
  }

  get isSpent(): boolean {
    return this.#held >= this.#most;
  }

  get limit(): number {
    return this.#most;
  }

  get held(): number {
    return this.#held;
  }

  add(bytes: number): void {
    this.#held += bytes;
  }

  /** True when an answer of about `bytes` may be made, in addition to others that will have `making` bytes. */
  hasAnswerRoom(bytes: number, making = 0): boolean {
    const before = this.#answers + making;
    return before === 0 || before + bytes <= this.#answersMost;
  }

  addAnswer(bytes: number): void {
    this.#answers += bytes;
    this.#held += bytes;
    if (bytes > 0) return;
    for (const maker of this.#makers) if (maker.isWaiting) maker.advance();
  }

  join(maker: AnswerMaker): void {
    this.#makers.push(maker);
  }

  /** Must be called when an answer begins to wait. */
  noteWaiting(): void {
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** True while an answer of either protocol waits for room. */
  get isPressed(): boolean {
    return this.#makers.some(({ isWaiting }) => isWaiting);
  }

  #look(): void {
    if (this.isPressed) {
      for (const maker of this.#makers) maker.cutStalled();
      return;
    }
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** Bytes of replies that the reads of one connection may build at the same time. */
const BUILDING_BYTES = 16 * 1024 * 1024;
const READS_MAX = 16;

/**
 * The number of reads of one connection that may run at a time. Nobody knows the size of a reply before it is read, so
 * this follows the last ones: many while they are small, one by one when they are huge.
 */
export class ReadsAtOnce {
  readonly #most: number;
  #typicalBytes = BUILDING_BYTES;

  constructor(most: number = READS_MAX) {
    this.#most = most;
  }

  get count(): number {
    const fitting = Math.floor(BUILDING_BYTES / Math.max(1, this.#typicalBytes));
    return Math.max(1, Math.min(this.#most, fitting));
  }

  /** The size of the last replies. Before the first one it is as large as replies may be together. */
  get typicalBytes(): number {
    return this.#typicalBytes;
  }

  /** A large reply counts at once, and is forgotten little by little. */
  note(replyBytes: number): void {
    this.#typicalBytes = Math.max(replyBytes, this.#typicalBytes / 2);
  }
}

// The memory that the replies of all connections of the binary protocol take.
// Nobody knows the size of a reply before it is read. So a read holds about twice the size of the last replies of its
// connection until its own is made, and a read that finds no room waits. Reads wait in one line, connection by
// connection.

/** More is not held for a read, however large the last replies were. */
const READ_BYTES_MAX = 32 * 1024 * 1024;

/** One connection, as seen by the room. */
export interface Reader {
  /** Called when a read of this connection may find room. */
  advance(): void;
  /** Called while others wait and this connection has bytes that its client does not take. */
  hurry(): void;
}

export class ReplyRoom implements AnswerMaker {
  readonly #budget: ByteBudget;
  readonly #waiting = new Set<Reader>();
  readonly #unsent = new Set<Reader>();
  /** Bytes that are held for reads whose replies are not made yet. */
  #reading = 0;

  constructor(budget: ByteBudget) {
    this.#budget = budget;
    budget.join(this);
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** The part of the room that one connection takes. */
  shareFor(reader: Reader): ReplyShare {
    let [ready, unsent, reading, isClosed] = [0, 0, 0, false];
    const addReading = (bytes: number): void => {
      reading += bytes;
      this.#reading += bytes;
      if (bytes < 0 && this.isWaiting) this.advance();
    };
    return {
      mayRead: (typicalBytes) => this.#mayRead(toHold(typicalBytes), reader),
      beginRead(typicalBytes) {
        const bytes = toHold(typicalBytes);
        addReading(bytes);
        return bytes;
      },
      endRead(bytes) {
        if (!isClosed) addReading(-bytes);
      },
      setReady: (bytes) => {
        if (bytes === ready || isClosed) return;
        const more = bytes - ready;
        ready = bytes;
        this.#budget.addAnswer(more);
      },
      setUnsent: (bytes) => {
        if (bytes === unsent || isClosed) return;
        const more = bytes - unsent;
        unsent = bytes;
        if (bytes > 0) this.#unsent.add(reader);
        else this.#unsent.delete(reader);
        this.#budget.addAnswer(more);
      },
      close: () => {
        isClosed = true;
        this.#unsent.delete(reader);
        this.#waiting.delete(reader);
        addReading(-reading);
        this.#budget.addAnswer(-ready - unsent);
      },
    };
  }

  /** Lets connections read as long as that helps. A connection that still finds no room goes to the end of the line. */
  advance(): void {
    for (const reader of this.#waiting) {
      this.#waiting.delete(reader);
      reader.advance();
      if (this.#waiting.has(reader)) return;
    }
  }

  cutStalled(): void {
    for (const reader of this.#unsent) reader.hurry();
  }

  /** True when a read whose reply may have about `bytes` may begin. Else the reader waits in line. */
  #mayRead(bytes: number, reader: Reader): boolean {
    if (this.#budget.hasAnswerRoom(bytes, this.#reading)) return true;
    if (this.#waiting.size === 0) this.#budget.noteWaiting();
    this.#waiting.add(reader);
    return false;
  }
}

/** The bytes of replies that one connection holds. `typicalBytes` is the size of the last replies. */
export interface ReplyShare {
  mayRead(typicalBytes: number): boolean;
  /** Holds room for a read that begins. Give the result to `endRead` when its reply is in line. */
  beginRead(typicalBytes: number): number;
  endRead(bytes: number): void;
  /** Bytes of replies that wait for an earlier one, or for the socket to take more. */
  readonly setReady: (bytes: number) => void;
  /** Bytes that were given to the socket and that the client has not taken. */
  readonly setUnsent: (bytes: number) => void;
  /** Frees everything: the connection is gone. Replies that are made later do not count. */
  close(): void;
}

function toHold(typicalBytes: number): number {
  return Math.min(READ_BYTES_MAX, 2 * typicalBytes);
}
