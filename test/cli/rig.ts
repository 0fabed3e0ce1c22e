import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QuipuError } from '../../src/base/errors.ts';
import type { Machine } from '../../src/cli/kit/process.ts';
import { thisMachine } from '../../src/cli/kit/process.ts';
import { escapeLines } from '../../src/cli/kit/text.ts';
import { isAddress } from '../../src/cli/kit/command.ts';
import type { QuipuShell } from '../../src/cli/kit/command.ts';
import { runCli } from '../../src/cli/program.ts';
import { openStore } from '../../src/open-store.ts';
import type { OpenOptions } from '../../src/open-store.ts';
import { copyStore } from '../../src/copy-store.ts';
import { restoreStore } from '../../src/restore-store.ts';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';
import { ModelEngine } from '../../src/testing/model-engine.ts';
import type { ModelState } from '../../src/testing/model/model-state.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The time of everything a rig stores, 2023-11-14T22:13:20Z. */
const NOW = 1_700_000_000_000;

/** A command line whose store lives in memory from one command to the next. */
export class CliRig implements Disposable {
  /** An empty folder that stands for the current directory. */
  readonly cwd: string = mkdtempSync(join(tmpdir(), 'quipu-cli-'));
  readonly env: Record<string, string> = {};
  /** Aborted to stand for Ctrl-C. */
  interrupt: AbortController = new AbortController();
  isTerminal = false;
  /** The clock of commands. Tokens that a server is to take need the real one. */
  now: () => number = () => NOW;
  /** The width of the terminal at standard output. */
  columns: number | undefined;
  /** What `quipu doctor` is to find instead of the truth. */
  machine: Partial<Machine> = {};
  /** What standard output does with data; tests replace it to close the pipe. */
  accept: (data: string | Uint8Array) => void = () => undefined;
  /** What the last command printed, byte for byte. */
  printed: Uint8Array = new Uint8Array();
  readonly #states = new Map<string, ModelState>();
  readonly #onDisk: boolean;

  /** `onDisk`: stores are folders, for what a store in memory cannot do. */
  constructor({ onDisk = false }: { readonly onDisk?: boolean } = {}) {
    this.#onDisk = onDisk;
  }

  /** Runs a command with nothing on its standard input. */
  async run(...argv: string[]): Promise<Ran> {
    return await this.feed('', ...argv);
  }

  /** Runs a command with `input` on its standard input. */
  async feed(
    input: string | Uint8Array | AsyncIterable<Uint8Array>,
    ...argv: string[]
  ): Promise<Ran> {
    const out: Uint8Array[] = [];
    let err = '';
    const source = typeof input === 'string' ? Buffer.from(input) : input;
    const shell: QuipuShell = {
      out: async (data) => {
        this.accept(data);
        const isText = typeof data === 'string' && this.columns !== undefined;
        out.push(Buffer.from(isText ? escapeLines(data) : data));
      },
      err: (text) => {
        err += escapeLines(text);
      },
      status: (line) => {
        err += `\r\u001b[K${line}`;
      },
      stdin: source instanceof Uint8Array ? inPieces(source) : source,
      env: this.env,
      cwd: this.cwd,
      home: join(this.cwd, 'home'),
      isTerminal: this.isTerminal,
      columns: this.columns,
      openStore: (url, options) => this.open(url, options),
      restoreStore,
      copyStore,
      machine: { ...thisMachine(), ...this.machine },
      program: 'quipu',
      now: this.now,
      catchInterrupt: () => this.interrupt.signal,
    };
    const code = await runCli(argv, shell);
    this.printed = Buffer.concat(out);
    return { code, out: Buffer.concat(out).toString(), err };
  }

  /** Opens the store that commands use, as they do. */
  async open(url: string = join(this.cwd, '.quipu'), options: OpenOptions = {}): Promise<Store> {
    // A server has a clock of its own.
    if (isAddress(url)) return openStore(url, options);
    if (this.#onDisk) return openStore(url, { ...options, clock: () => NOW });
    const state = this.#states.get(url);
    if (state === undefined && options.create === false) {
      const message = `there is no store at ${url}; create one with "quipu init"`;
      throw new QuipuError('NOT_FOUND', message, { what: 'store', id: url });
    }
    const engine = new ModelEngine({ clock: () => NOW, ...(state !== undefined && { state }) });
    this.#states.set(url, engine.state);
    return createStore(engine, { clock: () => NOW });
  }

  /** Changes a byte of some blob of every store in memory. */
  damageBlob(): void {
    for (const { blobs } of this.#states.values()) {
      for (const [hash, bytes] of [...blobs].slice(0, 1)) {
        blobs.set(
          hash,
          bytes.map((byte) => byte ^ 1),
        );
      }
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.cwd, { recursive: true, force: true });
  }
}

/** Small pieces, so that characters and lines are cut in the middle. */
async function* inPieces(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  for (let start = 0; start < bytes.length; start += 3) yield bytes.subarray(start, start + 3);
}
