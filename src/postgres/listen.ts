import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { pauseMs } from '../base/pause.ts';

export interface Listening {
  heard(payload: string): void;
  /** Called when listening begins, and again after every gap: something may have been missed. */
  began(): void;
}

const FOREVER = Number.MAX_SAFE_INTEGER;

/**
 * Listens until the returned function is called, over as many connections as needed. Trusts `channel` to be a plain
 * name. A notification is a hint: a caller that must not miss one polls from time to time.
 */
export function listen(
  connect: () => pg.Client,
  channel: string,
  listening: Listening,
): () => Promise<void> {
  const ended = new AbortController();
  const running = run(connect, channel, listening, ended.signal);
  return async () => {
    ended.abort();
    await running;
  };
}

async function run(
  connect: () => pg.Client,
  channel: string,
  listening: Listening,
  signal: AbortSignal,
): Promise<void> {
  let patience = new Patience(FOREVER);
  while (!signal.aborted) {
    const client = connect();
    let isGone: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => {
      isGone = resolve;
      client.on('error', isGone);
      client.on('end', isGone);
      signal.addEventListener('abort', isGone, { once: true });
    });
    client.on('notification', ({ payload = '' }) => listening.heard(payload));
    try {
      await client.connect();
      await client.query(`LISTEN ${channel}`);
      patience = new Patience(FOREVER);
      listening.began();
      await gone;
    } catch {
      // The server is away. The listener learns of the gap by the next `began`.
    }
    // The signal outlives many connections.
    signal.removeEventListener('abort', isGone);
    await client.end().catch(() => undefined);
    if (!signal.aborted) await patience.pause(signal);
  }
}

/** A retry deadline, with pauses that grow. */
export class Patience {
  readonly #deadline: number;
  #attempts = 0;

  constructor(forMs: number) {
    this.#deadline = Date.now() + forMs;
  }

  /**
   * Never true before a second attempt: a process that was itself suspended has made one attempt and used all its
   * time.
   */
  get isOver(): boolean {
    return this.#attempts > 0 && Date.now() >= this.#deadline;
  }

  async pause(signal?: AbortSignal): Promise<void> {
    const given = signal === undefined ? {} : { signal };
    // An abort only ends the pause. The code that aborts knows why.
    await sleep(pauseMs(this.#attempts), undefined, given).catch(() => undefined);
    this.#attempts += 1;
  }
}
