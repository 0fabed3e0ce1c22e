import type { Database } from '../../postgres/database.ts';

// Who waits for events is told when there are some. A ring is a hint and never more: it is sent after the events are
// there, and may get lost with the one who sends it, so whoever waits looks by itself from time to time.

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

  /** Hears the rings of all queues from now on. Undefined: some may have been missed. */
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
