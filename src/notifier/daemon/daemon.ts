import { messageOf } from '../../base/errors.ts';
import { randomBytes } from 'node:crypto';
import { Bell } from '../../base/bell.ts';
import type { Spool } from '../spool/spool.ts';
import { taskIdOf, type Task, type Timer } from '../spool/records.ts';
import { timeAfter } from './cron.ts';
import { endRun, type RunningCommand, type startCommand } from './run-command.ts';

// Takes tasks out of the spool and runs them.
//
// Invariants
// - Only the holder of the daemon's lock has a Daemon.
// - An id is in `#running` from before its file moves to `running/` until its end is on record, so it never runs twice
//   at once.
// - Whatever a single task or file does, the others go on. Trouble with the disk is logged and tried again later.

/** The daemon looks at the spool this often when nothing tells that it changed. */
const POLL_MS = 1000;
/** After trouble, such as a full disk, the daemon begins nothing for this long. */
const REST_MS = 1000;

export type Log = (message: string) => void;

export interface DaemonOptions {
  /** The number of tasks that run side by side. */
  readonly limit: number;
  readonly idleMs: number;
  /** The time between asking processes to end and killing them. */
  readonly graceMs: number;
}

export interface DaemonParts {
  readonly spool: Spool;
  readonly log: Log;
  readonly start: typeof startCommand;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** Returns true when somebody asked the daemon to leave, or the spool is no longer its own. */
  mustLeave(): boolean;
}

export class Daemon {
  readonly #parts: DaemonParts;
  readonly #options: DaemonOptions;
  readonly #bell: Bell = new Bell();
  readonly #timers: TimerTable = new TimerTable();
  /** Tasks found in `running/` at the start: first in line, and claimed already. */
  #again: string[] = [];
  #line: readonly string[] = [];
  readonly #running = new Set<string>();
  readonly #commands = new Map<string, RunningCommand>();
  readonly #runs = new Set<Promise<void>>();
  #timersMark = '';
  #idleSince: number;
  #restUntil = 0;
  #leaving = false;

  constructor(parts: DaemonParts, options: DaemonOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#idleSince = parts.now();
  }

  /** Tells the daemon to look again: something may have changed. */
  wake(): void {
    this.#bell.ring();
  }

  /** Works until the daemon has been idle for long enough, or must leave. `interrupted`: tasks to run again, first. */
  async work(interrupted: readonly string[]): Promise<'idle' | 'stopped'> {
    this.#again = [...interrupted];
    for (;;) {
      if (this.#parts.mustLeave()) {
        await this.#leave();
        return 'stopped';
      }
      await this.#guard('looking at the spool', () => this.#step());
      const now = this.#parts.now();
      if (this.#isBusy()) this.#idleSince = now;
      else if (now - this.#idleSince >= this.#options.idleMs) return 'idle';
      await Promise.race([this.#bell.wait(), this.#parts.sleep(this.#pauseMs(now))]);
    }
  }

  async #step(): Promise<void> {
    await this.#fireTimers();
    if (this.#parts.now() < this.#restUntil) return;
    // Later tasks stand behind: the daemon need not look for more while a task in line can be begun.
    if (!this.#line.some((id) => !this.#running.has(id))) {
      this.#line = await this.#parts.spool.listIds('pending');
    }
    const line = new Set([...this.#again, ...this.#line]);
    const ready = [...line].filter((id) => !this.#running.has(id));
    const free = Math.max(0, this.#options.limit - this.#running.size);
    for (const id of ready.slice(0, free)) {
      await this.#guard(`claiming task ${id}`, () => this.#claim(id));
    }
  }

  async #fireTimers(): Promise<void> {
    const { spool, log, now } = this.#parts;
    const mark = await spool.timersMark();
    if (mark !== this.#timersMark) {
      this.#timers.load(await spool.listTimers(), now());
      this.#timersMark = mark;
    }
    for (const timer of this.#timers.takeDue(now())) {
      const { cron: _cron, zone: _zone, addedAt: _addedAt, ...task } = timer;
      await this.#guard(`timer ${timer.id}`, async () => {
        const added = await spool.add({ ...task, id: taskIdOf(timer) });
        log(`timer ${timer.id}: ${added ? 'added its task' : 'its task is still pending'}`);
      });
    }
  }

  async #claim(id: string): Promise<void> {
    const { spool, log } = this.#parts;
    const isAgain = this.#again.includes(id);
    this.#again = this.#again.filter((other) => other !== id);
    if (!isAgain) this.#line = this.#line.filter((other) => other !== id);
    this.#running.add(id);
    let task: Task | undefined;
    try {
      task = await (isAgain ? spool.reclaim(id) : spool.claim(id));
    } catch (error) {
      // The task may have been moved before the disk failed. If not, the daemon finds it in `pending/` again.
      this.#again.push(id);
      throw error;
    } finally {
      if (task === undefined) this.#running.delete(id);
    }
    if (task === undefined) return log(`task ${id}: removed, or cannot be read`);
    const run = this.#run(task).finally(() => {
      this.#runs.delete(run);
      this.#running.delete(id);
      this.#commands.delete(id);
      this.#bell.ring();
    });
    this.#runs.add(run);
  }

  async #run(task: Task): Promise<void> {
    const { spool, log, now, sleep } = this.#parts;
    const about = { runId: randomBytes(12).toString('hex'), startedAt: now() };
    await this.#guard(`running task ${task.id}`, async () => {
      const command = await this.#begin(task, about);
      if (typeof command === 'string') {
        const output = { output: command, omittedBytes: 0 };
        const failure = { reason: 'start', exitCode: null, signal: null, ...output } as const;
        log(`task ${task.id}: could not be started: ${command}`);
        return spool.fail(task, { ...failure, ...about, endedAt: now() });
      }
      const ended = await endRun(command, { ...this.#options, timeoutMs: task.timeoutMs, sleep });
      log(`task ${task.id}: ${ended.reason} ${ended.signal ?? ended.exitCode ?? ''}`);
      if (ended.reason === 'exit' && ended.exitCode === 0) return spool.succeed(task.id);
      if (this.#leaving) {
        // The command ended because the daemon ends. The task stays in `running/`, and the next daemon runs it again.
        command.kill('SIGKILL');
        return;
      }
      await spool.fail(task, { ...ended, ...about, endedAt: now() });
    });
  }

  /** Begins the command when its process is on record. Otherwise the task is first in line again. */
  async #begin(
    task: Task,
    about: { readonly runId: string; readonly startedAt: number },
  ): Promise<RunningCommand | string> {
    const { spool, log } = this.#parts;
    let command: RunningCommand | string | undefined;
    try {
      command = await this.#parts.start(task, about.runId);
      if (typeof command === 'string') return command;
      await spool.noteRun(task.id, { ...about, pid: command.pid });
    } catch (error) {
      if (typeof command === 'object') command.kill('SIGKILL');
      this.#again.push(task.id);
      throw error;
    }
    this.#commands.set(task.id, command);
    if (this.#leaving) command.kill('SIGKILL');
    else command.begin();
    log(`task ${task.id}: began as process ${command.pid}`);
    return command;
  }

  async #leave(): Promise<void> {
    this.#leaving = true;
    for (const command of this.#commands.values()) command.kill('SIGTERM');
    await Promise.race([Promise.all(this.#runs), this.#parts.sleep(this.#options.graceMs)]);
    for (const command of this.#commands.values()) command.kill('SIGKILL');
    await Promise.all(this.#runs);
  }

  #isBusy(): boolean {
    const waiting = this.#again.length + this.#line.length;
    return waiting > 0 || this.#running.size > 0 || this.#timers.size > 0;
  }

  #pauseMs(now: number): number {
    const timer = this.#timers.nextAt - now;
    const idle = this.#isBusy() ? Infinity : this.#idleSince + this.#options.idleMs - now;
    return Math.max(1, Math.min(POLL_MS, timer, idle));
  }

  async #guard(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#parts.log(`${what}: ${messageOf(error)}`);
      this.#restUntil = this.#parts.now() + REST_MS;
    }
  }
}

interface Entry {
  readonly timer: Timer;
  nextAt: number;
}

/** The next due time of each timer. Times that pass while no daemon runs are not made up for. */
class TimerTable {
  #entries = new Map<string, Entry>();

  get size(): number {
    return this.#entries.size;
  }

  /** The due time of the first timer. */
  get nextAt(): number {
    return Math.min(Infinity, ...[...this.#entries.values()].map(({ nextAt }) => nextAt));
  }

  /** Replaces the list. A timer that was there before and did not change keeps its next time. */
  load(timers: readonly Timer[], nowMs: number): void {
    const entries = new Map<string, Entry>();
    for (const timer of timers) {
      const old = this.#entries.get(timer.id);
      if (old !== undefined && JSON.stringify(old.timer) === JSON.stringify(timer)) {
        entries.set(timer.id, old);
        continue;
      }
      const nextAt = timeAfter(timer, nowMs);
      if (nextAt !== undefined) entries.set(timer.id, { timer, nextAt });
    }
    this.#entries = entries;
  }

  /** Returns the timers that are due, each once however late it is, and moves them to their next time. */
  takeDue(nowMs: number): Timer[] {
    const due = [...this.#entries.values()].filter(({ nextAt }) => nextAt <= nowMs);
    for (const entry of due) {
      const nextAt = timeAfter(entry.timer, nowMs);
      if (nextAt === undefined) this.#entries.delete(entry.timer.id);
      else entry.nextAt = nextAt;
    }
    return due.map(({ timer }) => timer);
  }
}
