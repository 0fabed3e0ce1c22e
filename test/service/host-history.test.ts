import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { toContextId } from '../../src/base/brand.ts';
import { readOwnerNote } from '../../src/engine/files/owner-note.ts';
import { openStore } from '../../src/open-store.ts';
import { projectPath } from '../support/project.ts';
import { checkHistory } from './check-history.ts';
import type { AppendAsked, FoundTurn, Operation } from './check-history.ts';
import { newFolder } from './host-rig.ts';

/*
 * Invariant: whichever process owns a folder, and however often it is killed, no acknowledged append is lost, none
 * is doubled, the head of every context moves in the order of time and never back, and no id is used twice. And
 * who is not killed does not notice: its appends succeed.
 */

const PROCESSES = 3;
const CONTEXTS = 6;
const SECONDS = 30;

interface Worker {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown[]>;
  readonly log: string;
}

class Workers {
  readonly logs: string;
  readonly #folder: string;
  readonly #contexts: readonly string[];
  readonly #running = new Map<number, Worker>();
  #started = 0;

  constructor(folder: string, contexts: readonly string[]) {
    this.#folder = folder;
    this.#contexts = contexts;
    this.logs = `${folder}-logs`;
    mkdirSync(this.logs);
  }

  start(): void {
    this.#started += 1;
    const name = `p${this.#started}`;
    const log = join(this.logs, name);
    const child = spawn(
      process.execPath,
      [
        projectPath('test/service/history-worker.mjs'),
        this.#folder,
        log,
        name,
        JSON.stringify(this.#contexts),
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
    this.#running.set(child.pid ?? 0, { child, log, exited: once(child, 'exit') });
  }

  /** Kills the one that owns the folder and starts another in its place. False when none of them does. */
  async killOwner(): Promise<boolean> {
    const pid = readOwnerNote(this.#folder)?.pid ?? 0;
    const owner = this.#running.get(pid);
    if (owner === undefined) return false;
    this.#running.delete(pid);
    owner.child.kill('SIGKILL');
    this.start();
    await owner.exited;
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

function readLogs(logs: string): { operations: Operation[]; errors: string[] } {
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

async function readChains(
  folder: string,
  ids: readonly string[],
): Promise<Map<string, FoundTurn[]>> {
  await using store = await openStore(folder, { create: false });
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

it(
  `keeps its word to ${PROCESSES} processes while their owner is killed every second`,
  { timeout: 120_000 },
  async () => {
    const folder = newFolder();
    const ids: string[] = [];
    {
      await using store = await openStore(folder);
      for (let n = 0; n < CONTEXTS; n += 1) ids.push(`${(await store.contexts.create()).id}`);
    }
    const workers = new Workers(folder, ids);
    let kills = 0;
    try {
      for (let n = 0; n < PROCESSES; n += 1) workers.start();
      const endAt = performance.now() + SECONDS * 1000;
      while (performance.now() < endAt) {
        await sleep(1000);
        for (let tries = 0; tries < 50 && !(await workers.killOwner()); tries += 1) await sleep(20);
        kills += 1;
      }
      expect(await workers.end()).toEqual([0, 0, 0]);
    } finally {
      workers.killAll();
    }
    const { operations, errors } = readLogs(workers.logs);
    const acknowledged = operations.filter(
      (one): one is AppendAsked => 'depth' in one && one.kind === 'append',
    );
    expect(checkHistory(operations, await readChains(folder, ids))).toEqual([]);
    expect(errors).toEqual([]);
    expect(kills).toBeGreaterThan(15);
    expect(acknowledged.length).toBeGreaterThan(kills * 10);
    process.stdout.write(
      `${acknowledged.length} appends were acknowledged, and kept, while ${kills} owners were killed; nobody was answered for ${longestGapMs(acknowledged)} ms at most\n`,
    );
  },
);

/** Without an acknowledgement to anyone. */
function longestGapMs(acknowledged: readonly AppendAsked[]): number {
  const times = acknowledged.map((one) => Number((one.answeredAt ?? 0n) / 1_000_000n));
  times.sort((a, b) => a - b);
  return Math.max(...times.map((time, n) => time - (times[n - 1] ?? time)));
}
