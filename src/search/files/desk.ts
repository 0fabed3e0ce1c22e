import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { QuipuError } from '../../base/errors.ts';
import { programFile } from '../../base/program-file.ts';
import type { ReadDesk } from './read-desk.ts';
import type { WriteDesk } from './write-desk.ts';

// A desk does its work in a thread of its own, so that neither indexing nor a query holds up a commit. Sources that run
// without a build have no file that a thread could load: there the desk works in this thread.

export interface Desks {
  write: WriteDesk;
  read: ReadDesk;
}

type Methods<Role extends keyof Desks> = {
  [Name in keyof Desks[Role]]: Desks[Role][Name] extends (...args: never[]) => unknown
    ? Name
    : never;
}[keyof Desks[Role]] &
  string;
type ArgumentsOf<Role extends keyof Desks, Name extends Methods<Role>> = Desks[Role][Name] extends (
  ...args: infer Args
) => unknown
  ? Args
  : never;
type ResultOf<Role extends keyof Desks, Name extends Methods<Role>> = Desks[Role][Name] extends (
  ...args: never[]
) => infer Result
  ? Result
  : never;

/** The messages to the thread and back. */
export interface DeskCall {
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}
export interface DeskReply {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: {
    readonly name: string;
    readonly message: string;
    readonly code: string | undefined;
  };
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface Runner {
  run(method: string, args: readonly unknown[]): Promise<unknown>;
  end(): Promise<void>;
}

export class Desk<Role extends keyof Desks> {
  readonly #role: Role;
  readonly #path: string;
  #runner: Promise<Runner> | undefined;

  constructor(role: Role, path: string) {
    this.#role = role;
    this.#path = path;
  }

  async call<Name extends Methods<Role>>(
    method: Name,
    ...args: ArgumentsOf<Role, Name> extends unknown[] ? ArgumentsOf<Role, Name> : never
  ): Promise<ResultOf<Role, Name>> {
    this.#runner ??= this.#start();
    const runner = await this.#runner.catch((error: unknown) => {
      this.#runner = undefined;
      throw error;
    });
    return (await runner.run(method, args)) as ResultOf<Role, Name>;
  }

  /** Ends the thread after the calls that were made. A later call starts another. */
  async close(): Promise<void> {
    const runner = await this.#runner?.catch(() => undefined);
    this.#runner = undefined;
    await runner?.end();
  }

  #start(): Promise<Runner> {
    const hasThread = import.meta.url.endsWith('.js');
    return hasThread
      ? Promise.resolve(new ThreadRunner(this.#role, this.#path, () => (this.#runner = undefined)))
      : LocalRunner.start(this.#role, this.#path);
  }
}

class LocalRunner implements Runner {
  readonly #desk: Record<string, (...args: readonly unknown[]) => unknown>;

  static async start(role: keyof Desks, path: string): Promise<LocalRunner> {
    const { openDesk } = await import('./open-desk.ts');
    return new LocalRunner(openDesk(role, path));
  }

  private constructor(desk: object) {
    this.#desk = desk as Record<string, (...args: readonly unknown[]) => unknown>;
  }

  async run(method: string, args: readonly unknown[]): Promise<unknown> {
    await nextTurn();
    return this.#desk[method]?.(...args);
  }

  async end(): Promise<void> {
    await this.run('close', []);
  }
}

class ThreadRunner implements Runner {
  readonly #thread: Worker;
  readonly #pending = new Map<number, Pending>();
  #next = 1;

  constructor(role: keyof Desks, path: string, onEnd: () => void) {
    this.#thread = new Worker(programFile('search/files/desk-thread.js'), {
      workerData: { role, path },
      resourceLimits: { maxYoungGenerationSizeMb: 6, maxOldGenerationSizeMb: 256 },
    });
    this.#thread.unref();
    this.#thread.on('message', (reply: DeskReply) => this.#settle(reply));
    this.#thread.on('error', (error) => this.#fail(error));
    this.#thread.on('exit', () => {
      onEnd();
      this.#fail(
        new QuipuError('CLOSED', 'the thread of the search index has ended; open the store again', {
          what: 'search index',
        }),
      );
    });
  }

  run(method: string, args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = this.#next;
      this.#next += 1;
      this.#pending.set(id, { resolve, reject });
      this.#thread.ref();
      this.#thread.postMessage({ id, method, args } satisfies DeskCall);
    });
  }

  async end(): Promise<void> {
    await this.run('close', []).catch(() => undefined);
    await this.#thread.terminate();
  }

  #settle({ id, result, error }: DeskReply): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#thread.unref();
    if (error === undefined) pending?.resolve(result);
    else
      pending?.reject(
        Object.assign(new Error(error.message), { name: error.name, code: error.code }),
      );
  }

  #fail(error: Error): void {
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}
