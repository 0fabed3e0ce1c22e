import { randomBytes } from 'node:crypto';
import { QuipuError } from '../base/errors.ts';
import type { Batch, Committed } from '../engine/batch.ts';
import type { BlobSource } from '../engine/engine.ts';
import type { Progress } from '../engine/progress.ts';
import { rowOf } from '../wire/calls.ts';
import type { CallName } from '../wire/calls.ts';
import type { ChangeFeed } from './change-feed.ts';
import { isOutcomeUnknown, outcomeUnknown, isPassing, tryAgain, withRetries } from './transport.ts';
import type { Transport, FailedAttempt, RetryPlan } from './transport.ts';
import { keyScope, repetitionOf, splitBlobs } from './plan-commit.ts';

/** Sends requests to the server, and decides which are repeated, which are refused, and which wait. */
export class Requests {
  readonly #transport: Transport;
  readonly #timeoutMs: number;
  readonly #feed: ChangeFeed;
  readonly #underway: Underway = new Underway();
  readonly #keyPrefix = randomBytes(16).toString('base64url');
  #keys = 0;
  #closing: Promise<void> | undefined;

  constructor(transport: Transport, timeoutMs: number, feed: ChangeFeed) {
    this.#transport = transport;
    this.#timeoutMs = timeoutMs;
    this.#feed = feed;
  }

  /** A call with one answer. If its answer is lost, it is sent again, unless its row says `once`. */
  async call(name: CallName, args: readonly unknown[]): Promise<unknown> {
    this.assertOpen(name);
    return this.#send(name, args, (first) => {
      const work = (timeoutMs: number): Promise<unknown> => this.#call(name, args, timeoutMs);
      return tryAgain(first, work, this.#planOf(rowOf(name).once !== true));
    });
  }

  async commit(given: Batch): Promise<Committed> {
    this.assertOpen('commit');
    const { before, batch } = splitBlobs(given);
    for (const blobs of before) await this.#commitOne({ blobs });
    const context = keyScope(batch);
    if (context === undefined) return this.#commitOne(batch);
    this.#keys += 1;
    const key = `${this.#keyPrefix}-${this.#keys}`;
    const committed = await this.#commitOne({ idempotency: { context, key }, ...batch });
    // Only this client knows the key, so the caller sees these turns for the first time.
    return committed.replayed ? { ...committed, replayed: false } : committed;
  }

  /** The body can be read only once, so it is never sent again. */
  async putBlob({ chunks, sha256 = false }: BlobSource): Promise<unknown> {
    this.assertOpen('putBlob');
    let failure: { readonly error: unknown } | undefined;
    async function* source(): AsyncGenerator<Uint8Array, void, undefined> {
      try {
        yield* chunks;
      } catch (error) {
        failure = { error };
        throw error;
      }
    }
    const stored = this.#transport.upload('engine.putBlob', [{ sha256 }], source());
    return this.#underway.add(
      stored.catch((error: unknown) => {
        // If the source itself has failed, the transport's error for a body that breaks off says less.
        throw failure === undefined ? error : failure.error;
      }),
    );
  }

  /**
   * Work that takes longer than an answer may: the server reports its progress, and its result last. All such work is
   * maintenance, which does what is left to do. If its server is lost, the work starts again with the next server that
   * answers.
   */
  async runLong(
    method: CallName,
    args: readonly unknown[],
    progress: Progress = () => undefined,
  ): Promise<unknown> {
    this.assertOpen(method);
    return this.#underway.add(this.#finish(() => this.#awaitResult(method, args, progress)));
  }

  /** Waits for the requests that were sent, then closes. */
  async close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    await this.#closing;
  }

  assertOpen(what: string): void {
    if (this.#closing === undefined) return;
    throw new QuipuError('CLOSED', `${what} was called after the store was closed`, { what });
  }

  async #closeAll(): Promise<void> {
    this.#feed.close();
    await this.#underway.settled();
    await this.#transport.close();
  }

  /** The time limit for attempts begins with the first failure: the work itself has none. */
  async #finish(work: () => Promise<unknown>): Promise<unknown> {
    const plan = this.#planOf(true);
    try {
      return await work();
    } catch (error) {
      if (!isPassing(error) || plan.isOver()) throw error;
      return withRetries(work, plan);
    }
  }

  async #awaitResult(
    method: CallName,
    args: readonly unknown[],
    progress: Progress,
  ): Promise<unknown> {
    for await (const item of this.#transport.stream(method, args)) {
      const told = item as { progress?: Parameters<Progress>; result?: unknown };
      if ('result' in told) return told.result;
      if (told.progress !== undefined) progress(...told.progress);
    }
    throw outcomeUnknown(`the server said nothing of how ${method} ended`);
  }

  async #commitOne(batch: Batch): Promise<Committed> {
    const args = [batch] as const;
    const done = await this.#send('engine.commit', args, (first) => this.#commitAgain(args, first));
    const committed = done as Committed;
    this.#feed.saw(committed.seq);
    return committed;
  }

  async #commitAgain(args: readonly [Batch], first: FailedAttempt): Promise<unknown> {
    const repetition = repetitionOf(args[0]);
    let mayBeDone = false;
    const plan: RetryPlan = {
      ...this.#planOf(repetition !== 'once'),
      onRetry: (error) => {
        mayBeDone ||= isOutcomeUnknown(error);
      },
    };
    try {
      const work = (timeoutMs: number): Promise<unknown> =>
        this.#call('engine.commit', args, timeoutMs);
      return await tryAgain(first, work, plan);
    } catch (error) {
      if (!mayBeDone || isOutcomeUnknown(error)) throw error;
      // No server has answered since, so the outcome is still unknown.
      if (isPassing(error)) throw outcomeUnknown((error as Error).message, error);
      if (repetition !== 'compared') throw error;
      const message = 'the connection was lost, and when it was back the change was refused';
      throw outcomeUnknown(`${message}: it was made before, or by somebody else`, error);
    }
  }

  /** `again` goes on after a failed attempt. Its plan is made when it is needed: almost no request needs one. */
  async #send(
    method: CallName,
    args: readonly unknown[],
    again: (first: FailedAttempt) => Promise<unknown>,
  ): Promise<unknown> {
    const begunAt = Date.now();
    this.#underway.enter();
    try {
      return await this.#call(method, args, this.#timeoutMs);
    } catch (error) {
      return await again({ error, begunAt });
    } finally {
      this.#underway.leave();
    }
  }

  #call(method: CallName, args: readonly unknown[], timeoutMs: number): Promise<unknown> {
    const { ready } = this.#feed;
    if (ready === undefined) return this.#transport.call(method, args, { timeoutMs });
    // Listeners must hear of the effects of this request.
    return ready.then(() => this.#transport.call(method, args, { timeoutMs }));
  }

  #planOf(repeatable: boolean): RetryPlan {
    const isOver = (): boolean => this.#closing !== undefined;
    return { timeoutMs: this.#timeoutMs, repeatable, isOver };
  }
}

/** Counts the tasks in progress, for callers that want to leave once all are done. */
class Underway {
  #count = 0;
  #onEmpty: (() => void) | undefined;

  /** Trusts the caller to `leave`, whatever happens. */
  enter(): void {
    this.#count += 1;
  }

  leave(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#onEmpty?.();
  }

  async add<T>(work: Promise<T>): Promise<T> {
    this.enter();
    try {
      return await work;
    } finally {
      this.leave();
    }
  }

  /** Resolves when no task is in progress any more. */
  async settled(): Promise<void> {
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
  }
}
