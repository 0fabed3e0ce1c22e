/** The number of lines kept between two commits; older ones are dropped. */
const LINES_MAX = 1000;

/** Debug lines that wait for the next commit, so that they cost no sync of their own. */
export class InfoLines {
  readonly #clock: () => number;
  #lines: string[] = [];

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  add(level: 'info' | 'warn' | 'error', message: string, more: object = {}): void {
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
