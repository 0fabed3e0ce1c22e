import type { Database } from '../../../postgres/database.ts';

// A ring tells waiting processes that there are events. A ring is a hint and never more. The sender sends it after the
// events are there, and it may get lost with its sender, so a waiting process looks by itself from time to time.

const CHANNEL = 'quipu_queues';
const RING = { name: 'queue-ring', text: `SELECT pg_notify('${CHANNEL}', $1)` };

export class QueueRings {
  readonly #database: Database;
  readonly #waiting = new Set<(queue: string | undefined) => void>();
  #stop: (() => Promise<void>) | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  async ring(queue: string): Promise<void> {
    await this.#database.query(RING, [`${this.#prefix}${queue}`]);
  }

  /** Hears the rings of all queues from now on. Undefined: some rings may have been missed. */
  listen(heard: (queue: string | undefined) => void): () => void {
    this.#stop ??= this.#database.listen(CHANNEL, {
      heard: (payload) => {
        if (!payload.startsWith(this.#prefix)) return;
        const queue = payload.slice(this.#prefix.length);
        for (const each of this.#waiting) each(queue);
      },
      began: () => {
        for (const each of this.#waiting) each(undefined);
      },
    });
    this.#waiting.add(heard);
    return () => this.#waiting.delete(heard);
  }

  async close(): Promise<void> {
    await this.#stop?.();
    this.#stop = undefined;
  }

  /** Queues of another schema of the database have names of their own. */
  get #prefix(): string {
    return `${this.#database.address.schema}/`;
  }
}
