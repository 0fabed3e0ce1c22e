import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { toContextId } from '../../src/base/brand.ts';
import { openStore } from '../../src/open-store.ts';
import { projectPath } from '../support/project.ts';
import type { FoundTurn, Operation } from './check-history.ts';

interface Worker {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown[]>;
  readonly log: string;
}

/** Processes that append to one store and note what they ask for and are told. */
export class Workers {
  readonly logs: string;
  readonly #place: string;
  readonly #writers: number;
  readonly #contexts: readonly string[];
  readonly #running = new Map<number, Worker>();
  #started = 0;

  /** `logs` is an empty folder. */
  constructor(place: string, logs: string, contexts: readonly string[], writers = 20) {
    this.#place = place;
    this.#writers = writers;
    this.logs = logs;
    this.#contexts = contexts;
  }

  get pids(): readonly number[] {
    return [...this.#running.keys()];
  }

  start(): void {
    this.#started += 1;
    const name = `p${this.#started}`;
    const log = join(this.logs, name);
    const child = spawn(
      process.execPath,
      [
        projectPath('test/service/history-worker.mjs'),
        this.#place,
        log,
        name,
        JSON.stringify(this.#contexts),
        String(this.#writers),
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
    this.#running.set(child.pid ?? 0, { child, log, exited: once(child, 'exit') });
  }

  /** Kills one and starts another in its place. False when it is none of them. */
  async kill(pid: number): Promise<boolean> {
    const worker = this.#running.get(pid);
    if (worker === undefined) return false;
    this.#running.delete(pid);
    worker.child.kill('SIGKILL');
    this.start();
    await worker.exited;
    return true;
  }

  /** The exit codes of those that were left. */
  async end(): Promise<unknown[]> {
    const ends = [...this.#running.values()].map(async ({ child, log, exited }) => {
      // Before that it does not know yet how to end.
      while (!existsSync(log) && child.exitCode === null) await sleep(20);
      child.kill('SIGTERM');
      return (await exited)[0];
    });
    return Promise.all(ends);
  }

  killAll(): void {
    for (const { child } of this.#running.values()) child.kill('SIGKILL');
  }
}

interface Entry {
  readonly kind?: 'append' | 'head';
  readonly name: string;
  readonly answer?: string;
  readonly error?: string;
  readonly invokedAt?: string;
  readonly answeredAt?: string;
}

export function readLogs(logs: string): { operations: Operation[]; errors: string[] } {
  const operations = new Map<string, Operation>();
  const errors: string[] = [];
  for (const file of readdirSync(logs)) {
    const lines = readFileSync(join(logs, file), 'utf8').split('\n').slice(0, -1);
    for (const [n, line] of lines.entries()) {
      const { invokedAt, answeredAt, ...entry } = JSON.parse(line) as Entry;
      const times = {
        ...(invokedAt !== undefined && { invokedAt: BigInt(invokedAt) }),
        ...(answeredAt !== undefined && { answeredAt: BigInt(answeredAt) }),
      };
      if (entry.error !== undefined) errors.push(`${file}: ${entry.error}`);
      const key = entry.answer ?? (entry.kind === 'append' ? entry.name : `${file}/${n}`);
      const known = operations.get(key);
      operations.set(key, { ...known, ...entry, ...times } as Operation);
    }
  }
  return { operations: [...operations.values()], errors };
}

export async function readChains(
  place: string,
  ids: readonly string[],
): Promise<Map<string, FoundTurn[]>> {
  await using store = await openStore(place, { create: false });
  const chains = new Map<string, FoundTurn[]>();
  for (const id of ids) {
    const { head } = (await store.contexts.get(toContextId(BigInt(id)))) ?? {};
    const chain: FoundTurn[] = [];
    if (head !== undefined) {
      for await (const turn of store.contexts.chain(head)) {
        const { depth, parent } = turn;
        chain.push({ id: `${turn.id}`, parent: `${parent}`, depth, name: turn.payload as string });
      }
    }
    chains.set(id, chain);
  }
  expect((await store.maintain.verify()).problems).toEqual([]);
  return chains;
}
