import { isQuipuError } from '../../base/errors.ts';
import type { BundleHost } from '../bundles/bundle-host.ts';
import { noteDoc } from '../home/documents.ts';
import type { ThreadId, WorkflowsHome } from '../home/workflows-home.ts';
import { readThread } from '../threads/thread-docs.ts';
import type { ThreadOptions } from '../threads/workflows.ts';

/** The parts of a run. */
export interface Run {
  readonly home: WorkflowsHome;
  readonly id: ThreadId;
  readonly host: BundleHost;
  readonly watch: RunWatch;
  readonly info: InfoLines;
  readonly options: ThreadOptions;
}

/** The number of lines kept between two commits; older ones are dropped. */
const LINES_MAX = 1000;
/** The rest of a longer message is left out. */
const MESSAGE_CHARS_MAX = 32_768;

/** Debug lines that wait for the next commit, so that they cost no sync of their own. */
export class InfoLines {
  readonly #clock: () => number;
  #lines: string[] = [];

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  add(level: 'info' | 'warn' | 'error', text: string, more: object = {}): void {
    const left = text.length - MESSAGE_CHARS_MAX;
    const message =
      left > 0 ? `${text.slice(0, MESSAGE_CHARS_MAX)}… [${left} more characters]` : text;
    this.#lines.push(JSON.stringify({ at: this.#clock(), level, message, ...more }));
    if (this.#lines.length > LINES_MAX) this.#lines.shift();
  }

  /** Adds the output of a bundle. */
  addOutput(text: string): void {
    if (text !== '') this.add('info', text, { from: 'output' });
  }

  take(): readonly string[] {
    const lines = this.#lines;
    this.#lines = [];
    return lines;
  }
}

/** Watches what others do to a thread while it runs here. */
export class RunWatch implements Disposable {
  /** Aborts when the thread has ended or gone, when the store closes, and with the caller's signal. */
  readonly signal: AbortSignal;
  readonly #over = new AbortController();
  readonly #stops: (() => void)[];

  constructor({ engine, lifetime }: WorkflowsHome, id: ThreadId, signal: AbortSignal | undefined) {
    const name = noteDoc(id);
    const stop = (): void => this.#over.abort();
    const look = (): void => {
      // If the store cannot be read now, the next step reports it.
      readThread(engine, id).then(
        ({ state }) => state === 'completed' && stop(),
        (error: unknown) => isQuipuError(error, 'NOT_FOUND') && stop(),
      );
    };
    this.signal = this.#over.signal;
    this.#stops = [
      engine.subscribe(({ docs, removedDocs }) => {
        const changed = docs.some((doc) => doc.name === name) || removedDocs.includes(name);
        if (changed) look();
      }, look),
      lifetime.onClose(stop),
      () => signal?.removeEventListener('abort', stop),
    ];
    signal?.addEventListener('abort', stop);
    if (signal?.aborted === true) stop();
  }

  [Symbol.dispose](): void {
    for (const stop of this.#stops) stop();
  }
}
