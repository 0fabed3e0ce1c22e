import { invalid } from '../../base/errors.ts';
import { tooMuch } from './wire-error.ts';

/** A task that goes on after its reply: a subscription, a stream or an upload. */
export interface LongTask {
  readonly kind: 'stream' | 'upload';
  /**
   * Ends the task now. From here on it may push nothing, except the error if there is one that the client should know.
   * Without an error the client wanted the end, or is gone.
   */
  cancel(error?: Error): void;
}

/** The long tasks of one connection, by the request id that began them. */
export class LongTasks {
  readonly #tasks = new Map<string, LongTask>();
  readonly #most: Readonly<Record<LongTask['kind'], number>>;

  constructor(most: Readonly<Record<LongTask['kind'], number>>) {
    this.#most = most;
  }

  begin(reqId: Uint8Array, task: LongTask): void {
    const key = keyOf(reqId);
    if (this.#tasks.has(key))
      throw invalid('request id', 'belongs to a task in progress; use another one');
    let count = 0;
    for (const { kind } of this.#tasks.values()) if (kind === task.kind) count += 1;
    if (count >= this.#most[task.kind]) {
      throw tooMuch(`${count} ${task.kind}s are under way, and there may be no more`);
    }
    this.#tasks.set(key, task);
  }

  get(reqId: Uint8Array): LongTask | undefined {
    return this.#tasks.get(keyOf(reqId));
  }

  /** Forgets a task that has ended by itself. */
  end(reqId: Uint8Array, task: LongTask): void {
    const key = keyOf(reqId);
    if (this.#tasks.get(key) === task) this.#tasks.delete(key);
  }

  /** Ignores unknown ids: a task may end at the moment it is cancelled. */
  cancel(reqId: Uint8Array): void {
    const task = this.get(reqId);
    if (task === undefined) return;
    this.#tasks.delete(keyOf(reqId));
    task.cancel();
  }

  cancelAll(error?: Error): void {
    const tasks = [...this.#tasks.values()];
    this.#tasks.clear();
    for (const task of tasks) task.cancel(error);
  }
}

function keyOf(reqId: Uint8Array): string {
  return Buffer.from(reqId).toString('latin1');
}
