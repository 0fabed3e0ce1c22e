import { Worker } from 'node:worker_threads';
import { QuipuError } from '../../base/errors.ts';
import { checkModule, type Descriptor, type LoadedModule } from './descriptor.ts';
import { RunFailure } from './run-command.ts';

// A bundle is code of others. It runs in a worker of its own, so that an endless loop, a call of exit and unbounded
// memory end that worker and nothing else. This is no protection against malice: a bundle can do everything that this
// process can.

const MEMORY_MB = 512;
/** The debug log keeps the output of a bundle, up to this much between two steps. */
const OUTPUT_CHARS_MAX = 16_384;

interface Seen extends LoadedModule {
  readonly hasExtract: boolean;
}

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
  /** Printed output; this message answers no question. */
  readonly output?: string;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export interface LoadOptions {
  /** The time for quick calls. */
  readonly quickMs: number;
  /** The file that the source was read from, for errors. */
  readonly file?: string;
}

/** An import that fails is one of a file or a package: a bundle has neither. */
function withHint(message: string): string {
  const isImport = /module specifier|Cannot find (?:module|package)|Invalid URL|Failed to resolve/i;
  return isImport.test(message)
    ? `${message}; a bundle is one file that imports "node:" modules alone, so put the code into it`
    : message;
}

export interface AskOptions {
  /** The one to blame when time is up. */
  readonly who: string;
  /** Default: the time for quick calls. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

export class BundleHost implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #quickMs: number;
  readonly #waiting = new Map<number, Waiting>();
  #isOnline = false;
  #ended: string | undefined;
  #asked = 0;
  #output = '';
  #loaded: (Pick<Seen, 'hasRun' | 'hasExtract'> & { readonly descriptor: Descriptor }) | undefined;

  private constructor(source: Uint8Array, { quickMs, file }: Required<LoadOptions>) {
    this.#quickMs = quickMs;
    const program = `data:text/javascript,${encodeURIComponent(BUNDLE_PROGRAM)}`;
    this.#worker = new Worker(new URL(program), {
      workerData: { source: Buffer.from(source).toString('base64'), file },
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
      // The output of a bundle must not mix with the output of this program.
      stdout: true,
      stderr: true,
      // Flags of this process, such as those of its test runner, are not for a bundle.
      execArgv: [],
    });
    this.#worker.on('message', (answer: Answer) => {
      if (answer.output !== undefined) {
        this.#output = (this.#output + answer.output).slice(-OUTPUT_CHARS_MAX);
        return;
      }
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if (answer.error === undefined) waiting?.resolve(answer.value);
      else waiting?.reject(new RunFailure(answer.error));
    });
    this.#worker.once('online', () => {
      this.#isOnline = true;
    });
    this.#worker.on('error', (error) => this.#end(error.message));
    this.#worker.on('exit', () => this.#end('the bundle ended its thread'));
  }

  /** Throws INVALID with the reason for a module that is not a bundle. */
  static async load(
    source: Uint8Array,
    { quickMs, file = 'the bundle' }: LoadOptions,
  ): Promise<BundleHost> {
    const host = new BundleHost(source, { quickMs, file });
    try {
      const seen = (await host.#answerTo(0, { who: 'it' })) as Seen;
      host.#loaded = { ...seen, descriptor: checkModule(seen) };
      return host;
    } catch (error) {
      await host.close();
      if (!(error instanceof RunFailure)) throw error;
      const message = `${file} does not load: ${withHint(error.message)}`;
      throw new QuipuError('INVALID', message, { what: 'bundle' });
    }
  }

  get descriptor(): Descriptor {
    if (this.#loaded === undefined) throw new TypeError('the bundle is not loaded');
    return this.#loaded.descriptor;
  }

  get hasRun(): boolean {
    return this.#loaded?.hasRun === true;
  }

  get hasExtract(): boolean {
    return this.#loaded?.hasExtract === true;
  }

  /** Throws RunFailure when the bundle throws, takes too long, or is stopped; the last two end its worker. */
  async ask(what: string, args: readonly unknown[], options: AskOptions): Promise<unknown> {
    this.#asked += 1;
    const id = this.#asked;
    const answer = this.#answerTo(id, options);
    this.#worker.postMessage({ id, what, args });
    return answer;
  }

  /** Returns the output since the last call. */
  takeOutput(): string {
    const output = this.#output;
    this.#output = '';
    return output;
  }

  async close(): Promise<void> {
    this.#end('the bundle was closed');
    await this.#worker.terminate();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #answerTo(id: number, options: AskOptions): Promise<unknown> {
    const { who, timeoutMs = this.#quickMs, signal } = options;
    if (this.#ended !== undefined) throw new RunFailure(this.#ended);
    const stop = (reason: string): void => {
      this.#end(reason);
      void this.#worker.terminate();
    };
    let timer: NodeJS.Timeout | undefined;
    const begin = (): void => {
      timer = setTimeout(() => stop(`${who} took longer than ${timeoutMs} ms`), timeoutMs);
    };
    // The time that a busy machine takes to make a worker is not the bundle's time.
    if (this.#isOnline) begin();
    else this.#worker.once('online', begin);
    const abort = (): void => stop(`${who} was stopped`);
    if (signal?.aborted === true) abort();
    signal?.addEventListener('abort', abort);
    try {
      return await new Promise((resolve, reject) => {
        if (this.#ended !== undefined) reject(new RunFailure(this.#ended));
        else this.#waiting.set(id, { resolve, reject });
      });
    } finally {
      clearTimeout(timer);
      this.#worker.off('online', begin);
      signal?.removeEventListener('abort', abort);
    }
  }

  #end(reason: string): void {
    this.#ended ??= reason;
    for (const waiting of this.#waiting.values()) waiting.reject(new RunFailure(this.#ended));
    this.#waiting.clear();
  }
}

/**
 * The program of the worker in which a bundle runs. The program loads the given module and carries out requests, with
 * one answer for each. The program is text because it has to start from sources as well as from a build. Values travel
 * as JSON, so a bundle's result is only data on the other side.
 */
const BUNDLE_PROGRAM = `
import { parentPort, workerData } from 'node:worker_threads';

const address = 'data:text/javascript;base64,' + workerData.source;
const bundle = workerData.file;
const plain = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
const failure = (error) => {
  const text = error instanceof Error ? error.name + ': ' + error.message : String(error);
  // The module has no file here. Its address is its whole text in base64.
  return text.replaceAll(address, bundle).slice(0, 2000);
};
const matches = (when, last) =>
  Object.entries(when).every(([name, value]) => JSON.stringify(last?.meta?.[name]) === JSON.stringify(value));

// The same way as answers, so that what was printed before one is there before it.
for (const stream of [process.stdout, process.stderr]) {
  stream.write = (piece, ...rest) => {
    parentPort.postMessage({ output: String(piece) });
    rest.find((item) => typeof item === 'function')?.();
    return true;
  };
}

async function load() {
  const module = await import(address);
  const { descriptor, roles = {}, run, table, extract } = module;
  const functions = Object.keys(roles).filter((name) => typeof roles[name] === 'function');
  const isTable = typeof table === 'object' && table !== null;
  return { module, seen: { descriptor, functions, hasRun: typeof run === 'function', table: isTable ? table : null,
    hasExtract: typeof extract === 'function' } };
}

let moves;
const answers = {
  async next({ roles, table }, last, context, isFailed) {
    const rules = table[last?.role ?? '__start__'];
    if (typeof rules === 'string') return isFailed ? null : rules;
    for (const { when, to } of rules ?? []) {
      if (when === undefined ? !isFailed : (typeof when === 'function' ? await when(last, context) : matches(when, last))) return to;
    }
    return null;
  },
  async begin({ run }, context) {
    moves = run(context);
  },
  async advance(_, value) {
    return await moves.next(value);
  },
  async role({ roles }, name, context) {
    return await roles[name](context);
  },
  async extract({ extract }, raw, role) {
    return await extract(raw, role);
  },
};

try {
  const { module, seen } = await load();
  parentPort.on('message', async ({ id, what, args }) => {
    try {
      parentPort.postMessage({ id, value: plain(await answers[what](module, ...args)) });
    } catch (error) {
      parentPort.postMessage({ id, error: failure(error) });
    }
  });
  parentPort.postMessage({ id: 0, value: plain(seen) });
} catch (error) {
  parentPort.postMessage({ id: 0, error: failure(error) });
}
`;
