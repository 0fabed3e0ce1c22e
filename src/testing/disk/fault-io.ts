import type { Io, IoFile, IoLock } from '../../engine/io.ts';
import { canFail, needsRoom } from './fault-plan.ts';
import type { FaultPlan } from './fault-plan.ts';
import { describeOperation, errnoError } from './operation.ts';
import type { Operation } from './operation.ts';

// An `Io` that counts the operations of another one and fails some of them.
//
// A failed sync of a disk that supports it (`loseUnsynced`) also loses the pages, as kernels do: reads still see them,
// a second sync succeeds, and they are gone after the crash. A write that fails with EIO has taken half of its bytes.
// Every other failed operation has done nothing, except `close` and `release`, which release first and then fail.

type Strike = 'EIO' | 'ENOSPC' | 'EMFILE' | 'EROFS' | 'EACCES' | 'SHORT';

export class FaultIo implements Io {
  /** Every operation so far, in order. */
  readonly trace: Operation[] = [];
  readonly #inner: Io;
  #plan: FaultPlan | undefined;
  #struck = 0;
  #full = false;
  #lostNames = false;

  constructor(inner: Io, plan?: FaultPlan) {
    this.#inner = inner;
    this.#plan = plan;
  }

  /** The number of operations that failed or were cut short. */
  get struck(): number {
    return this.#struck;
  }

  /** True when a failed sync of a folder has lost names in it. */
  get lostNames(): boolean {
    return this.#lostNames;
  }

  /** From now on nothing fails: there is room again, the cable is back. */
  heal(): void {
    this.#plan = undefined;
    this.#full = false;
  }

  async open(path: string, mode: 'read' | 'write' | 'create'): Promise<IoFile> {
    const operation: Operation = { name: 'open', path, detail: mode };
    const file = await this.#pass(operation, () => this.#inner.open(path, mode));
    return new FaultFile(file, path, (next) => this.#strike(next));
  }

  stat(path: string): ReturnType<Io['stat']> {
    return this.#pass({ name: 'stat', path }, () => this.#inner.stat(path));
  }

  mkdir(path: string): Promise<void> {
    return this.#pass({ name: 'mkdir', path }, () => this.#inner.mkdir(path));
  }

  list(path: string): Promise<string[]> {
    return this.#pass({ name: 'list', path }, () => this.#inner.list(path));
  }

  rename(from: string, to: string): Promise<void> {
    return this.#pass({ name: 'rename', path: from, detail: to }, () =>
      this.#inner.rename(from, to),
    );
  }

  link(from: string, to: string): Promise<void> {
    return this.#pass({ name: 'link', path: from, detail: to }, () => this.#inner.link(from, to));
  }

  remove(path: string): Promise<void> {
    return this.#pass({ name: 'remove', path }, () => this.#inner.remove(path));
  }

  removeFolder(path: string): Promise<void> {
    return this.#pass({ name: 'removeFolder', path }, () => this.#inner.removeFolder(path));
  }

  async syncDir(path: string): Promise<void> {
    const operation: Operation = { name: 'syncDir', path };
    const strike = this.#strike(operation);
    if (strike === undefined) return this.#inner.syncDir(path);
    // No sync was tried when the folder could not be opened, and then nothing is lost.
    if (strike !== 'EMFILE' && losesFolders(this.#inner)) {
      this.#inner.loseUnsynced(path);
      this.#lostNames = true;
    }
    throw failure(strike, operation);
  }

  async freeBytes(path: string): Promise<number> {
    return this.#inner.freeBytes(path);
  }

  async lock(path: string, owner: string): Promise<IoLock> {
    const lock = await this.#pass({ name: 'lock', path }, () => this.#inner.lock(path, owner));
    const release = async (): Promise<void> => {
      const operation: Operation = { name: 'release', path };
      const strike = this.#strike(operation);
      await lock.release();
      if (strike !== undefined) throw failure(strike, operation);
    };
    return { release };
  }

  async #pass<T>(operation: Operation, act: () => Promise<T>): Promise<T> {
    const strike = this.#strike(operation);
    if (strike !== undefined) throw failure(strike, operation);
    return act();
  }

  #strike(operation: Operation): Strike | undefined {
    const number = this.trace.push(operation);
    const strike = this.#decide(operation, number);
    if (strike !== undefined) this.#struck++;
    return strike;
  }

  #decide(operation: Operation, number: number): Strike | undefined {
    const plan = this.#plan;
    if (plan === undefined || number < plan.at) return undefined;
    if (this.#full) {
      if (!needsRoom(operation)) return undefined;
      if (plan.times === 'once') this.heal();
      return 'ENOSPC';
    }
    if (plan.times === 'once' && number > plan.at) return undefined;
    if (!canFail(plan.kind, operation)) return undefined;
    if (plan.kind !== 'SHORT_ENOSPC') return plan.kind;
    this.#full = true;
    return 'SHORT';
  }
}

class FaultFile implements IoFile {
  readonly #inner: IoFile;
  readonly #path: string;
  readonly #strike: (operation: Operation) => Strike | undefined;

  constructor(inner: IoFile, path: string, strike: (operation: Operation) => Strike | undefined) {
    this.#inner = inner;
    this.#path = path;
    this.#strike = strike;
  }

  read(into: Uint8Array, position: number): Promise<number> {
    const detail = `${into.length}@${position}`;
    return this.#pass({ name: 'read', path: this.#path, detail }, () =>
      this.#inner.read(into, position),
    );
  }

  async write(bytes: Uint8Array, position: number): Promise<number> {
    const detail = `${bytes.length}@${position}`;
    const operation: Operation = { name: 'write', path: this.#path, detail };
    const strike = this.#strike(operation);
    if (strike === undefined) return this.#inner.write(bytes, position);
    const half = bytes.subarray(0, Math.floor(bytes.length / 2));
    if (strike === 'SHORT') return this.#inner.write(half, position);
    if (strike === 'EIO') await this.#inner.write(half, position);
    throw failure(strike, operation);
  }

  async sync(): Promise<void> {
    const operation: Operation = { name: 'sync', path: this.#path };
    const strike = this.#strike(operation);
    if (strike === undefined) return this.#inner.sync();
    if (losesPages(this.#inner)) this.#inner.loseUnsynced();
    throw failure(strike, operation);
  }

  truncate(length: number): Promise<void> {
    const operation: Operation = { name: 'truncate', path: this.#path, detail: String(length) };
    return this.#pass(operation, () => this.#inner.truncate(length));
  }

  size(): Promise<number> {
    return this.#pass({ name: 'size', path: this.#path }, () => this.#inner.size());
  }

  async close(): Promise<void> {
    const operation: Operation = { name: 'close', path: this.#path };
    const strike = this.#strike(operation);
    await this.#inner.close();
    if (strike !== undefined) throw failure(strike, operation);
  }

  async #pass<T>(operation: Operation, act: () => Promise<T>): Promise<T> {
    const strike = this.#strike(operation);
    if (strike !== undefined) throw failure(strike, operation);
    return act();
  }
}

function failure(strike: Strike, operation: Operation): Error {
  return errnoError(strike, describeOperation(operation));
}

function losesPages(file: IoFile): file is IoFile & { loseUnsynced(): void } {
  return 'loseUnsynced' in file;
}

function losesFolders(io: Io): io is Io & { loseUnsynced(folder: string): void } {
  return 'loseUnsynced' in io;
}
