import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { readOwnerNote } from '../../src/engine/files/disk/owner-note.ts';
import { projectPath } from '../support/project.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

interface Answer {
  readonly id?: number;
  readonly value?: unknown;
  readonly error?: object;
  readonly told?: unknown;
}

/** A process of its own that uses a store as it is told. It ends with the test. */
export class HostProcess {
  readonly #child: ChildProcess = fork(projectPath('test/service/host-process.mjs'));
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  readonly exited: Promise<unknown[]>;
  /** What it said unasked. */
  readonly told: unknown[] = [];
  #asked = 0;

  constructor() {
    this.exited = once(this.#child, 'exit');
    this.#child.on('message', (answer: Answer) => {
      if (answer.id === undefined) this.told.push(answer.told);
      else this.#waiting.get(answer.id)?.(answer);
    });
    onTestFinished(() => this.kill());
  }

  static async open(folder: string, options: object = {}): Promise<HostProcess> {
    const opened = new HostProcess();
    await opened.ask('open', folder, options);
    return opened;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Rejects with the error's code, message and data. */
  async ask<T>(verb: string, ...args: readonly unknown[]): Promise<T> {
    this.#asked += 1;
    const id = this.#asked;
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve));
    this.#child.send({ id, verb, args });
    const { value, error } = await answered;
    if (error !== undefined) throw Object.assign(new Error('the process failed'), error);
    return value as T;
  }

  /** With SIGKILL. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.exited;
  }

  stop(): void {
    this.#child.kill('SIGSTOP');
  }
}

export function newFolder(): string {
  const folder = freshFolder('quipu-host-');
  return join(folder, 'store');
}

/** Of these processes, the one that has left its name in the folder. */
export function ownerOf(folder: string, all: readonly HostProcess[]): HostProcess {
  const pid = readOwnerNote(folder)?.pid;
  const owner = all.find((one) => one.pid === pid);
  if (owner === undefined) throw new Error(`none of them is process ${String(pid)}`);
  return owner;
}
