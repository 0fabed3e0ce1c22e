import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Installation } from './installation.ts';

/**
 * Starts the server and waits for one line, a signal to send it. When the pipe ends instead, this
 * process is gone, however it went: then the server is stopped at once and its folder removed.
 */
const SCRIPT = `
folder=$1; shift
"$@" & server=$!
exec 2>/dev/null
if read -r signal; then
  kill -s "$signal" $server; wait $server
else
  kill -s QUIT $server; wait $server; rm -rf "$folder"
fi`;
const READY = 'database system is ready to accept connections';
const LOG_KEPT_CHARS = 8_000;

/** One run of a server, from its start to its end. */
export class Supervisor {
  readonly #child: ChildProcess;
  /** Ends with the last process of the server, as they all write into it. */
  readonly #ended: Promise<unknown>;
  #log = '';

  constructor({ folder, postgres, user }: Installation, args: readonly string[]) {
    this.#child = spawn('/bin/sh', ['-c', SCRIPT, 'sh', folder, postgres, ...args], {
      ...user,
      cwd: folder,
      // A process group of its own: an interrupt at the terminal is for this process alone.
      detached: true,
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    this.#child.stdin!.on('error', () => {});
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#log = (this.#log + text).slice(-LOG_KEPT_CHARS);
    });
    this.#ended = once(this.#child.stderr!, 'close');
  }

  /** Rejects with the end of the log when the server leaves instead. */
  async ready(): Promise<void> {
    let ended = false;
    void this.#ended.then(() => (ended = true));
    while (!this.#log.includes(READY)) {
      if (ended) throw new Error(`PostgreSQL did not start:\n${this.#log}`);
      await Promise.race([once(this.#child.stderr!, 'data'), this.#ended]);
    }
  }

  /** Resolves when no process of the server is left. */
  async signal(name: 'INT' | 'QUIT' | 'KILL'): Promise<void> {
    await this.#finish(`${name}\n`);
  }

  /** Stops the server and removes its folder. */
  async discard(): Promise<void> {
    await this.#finish('');
  }

  async #finish(line: string): Promise<void> {
    const exited =
      this.#child.exitCode === null && this.#child.signalCode === null
        ? once(this.#child, 'exit')
        : undefined;
    this.#child.stdin!.end(line);
    await Promise.all([exited, this.#ended]);
  }
}
