import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { message } from '../../../src/testing/queue-suite/fixture.ts';
import { eventually } from '../../queue/rig.ts';
import { projectPath } from '../../support/project.ts';
import type { QueueRig } from './rig.ts';

export const LEASE_MS = 1000;

/** A worker in a process of its own. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly notes: string[] = [];

  constructor(url: string, guard: 'guarded' | 'unguarded' = 'guarded') {
    const script = projectPath('test/postgres/queue/worker.mjs');
    const args = [script, url, String(LEASE_MS), guard];
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void this.#child.kill('SIGKILL'));
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.notes.push(...text.split('\n').slice(0, -1));
    });
  }

  async kill(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}

export interface Load {
  readonly workers: number;
  readonly consumers: number;
  readonly events: number;
  readonly kills: number;
}

export interface Handled {
  /** Events that a consumer had to handle and had not, when it was given up. */
  readonly missing: number[];
  /** Handlers that ran beside another one of the same consumer. */
  readonly twice: string[];
}

/** Pushes while workers are killed at random and others take their place. */
export async function runWorkers(rig: QueueRig, load: Load): Promise<Handled> {
  const names = Array.from({ length: load.consumers }, (_, number) => `c${number}`);
  const script = projectPath('test/postgres/queue/handler.mjs');
  const handler = `"${process.execPath}" "${script}" "${rig.notes}"`;
  for (const consumer of names) await rig.inbox.subscribe({ consumer, handler });
  const workers = Array.from({ length: load.workers }, () => new WorkerProcess(rig.url));
  const ids: number[] = [];
  const killEvery = load.events / (load.kills + 1);
  for (let number = 1; number <= load.events; number += 1) {
    ids.push(await rig.inbox.push(message(String(number))));
    await setTimeout(5);
    if (number % killEvery >= 1 || number === load.events) continue;
    const at = Math.floor(Math.random() * workers.length);
    await workers[at]!.kill();
    workers[at] = new WorkerProcess(rig.url);
  }
  const result: Handled = { missing: [], twice: [] };
  for (const consumer of names) {
    const handled = (): Set<number> => new Set(rig.noted(`${consumer}.handled`).map(Number));
    await eventually(() => handled().size >= ids.length, 30_000).catch(() => undefined);
    result.missing.push(...ids.filter((id) => !handled().has(id)));
    result.twice.push(...rig.noted(`${consumer}.twice`));
  }
  await Promise.all(workers.map((worker) => worker.kill()));
  return result;
}
