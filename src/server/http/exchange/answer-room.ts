import { QuipuError } from '../../../base/errors.ts';
import { ReadsAtOnce, PATIENCE_MS } from '../../memory/byte-budget.ts';
import type { AnswerMaker, ByteBudget } from '../../memory/byte-budget.ts';
import type { Pace } from './pace.ts';

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
