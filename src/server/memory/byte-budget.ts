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
