import { Daemon } from '../../src/notifier/daemon/daemon.ts';
import type { DaemonOptions } from '../../src/notifier/daemon/daemon.ts';
import type { Ended, RunningCommand } from '../../src/notifier/daemon/run-command.ts';
import { Spool } from '../../src/notifier/spool/spool.ts';
import type { NewTask, Task } from '../../src/notifier/spool/records.ts';
import { CutDisk } from './cut-disk.ts';

/** A Monday. */
export const MONDAY: number = Date.parse('2026-11-16T08:00:00Z');

interface Run {
  readonly task: Task;
  end(outcome: Partial<Ended>): void;
}

/** A daemon on a disk in memory, with commands that end when told to and a clock that goes when told to. */
export class DaemonRig {
  readonly disk: CutDisk;
  readonly spool: Spool;
  readonly daemon: Daemon;
  now: number = MONDAY;
  leaves = false;
  /** What runs, and everything that ever began, in order. */
  readonly running: Map<string, Run> = new Map();
  readonly began: string[] = [];
  readonly overlaps: string[] = [];
  readonly logged: string[] = [];
  readonly killed: string[] = [];
  startFails: string | undefined;
  #sleepers: { at: number; wake: () => void }[] = [];

  constructor(
    options: Partial<DaemonOptions> = {},
    disk: CutDisk = new CutDisk(),
    SpoolClass: typeof Spool = Spool,
  ) {
    this.disk = disk;
    this.spool = new SpoolClass('/spool', disk, () => this.now);
    this.daemon = new Daemon(
      {
        spool: this.spool,
        log: (message) => this.logged.push(message),
        start: async (task) => this.startFails ?? this.#start(task),
        now: () => this.now,
        sleep: (ms) =>
          new Promise((wake) => {
            this.#sleepers.push({ at: this.now + ms, wake });
          }),
        mustLeave: () => this.leaves,
      },
      { limit: 2, idleMs: 60_000, graceMs: 5000, ...options },
    );
  }

  async add(id: string, command = 'true', more: Partial<NewTask> = {}): Promise<boolean> {
    const added = await this.spool.add({ id, author: '', command, cwd: '/', env: {}, ...more });
    this.daemon.wake();
    await this.settle();
    return added;
  }

  async end(id: string, outcome: Partial<Ended> = { exitCode: 0 }): Promise<void> {
    this.running.get(id)?.end(outcome);
    await this.settle();
  }

  /** Lets time pass in steps, waking who sleeps. */
  async pass(ms: number, stepMs = 1000): Promise<void> {
    for (const until = this.now + ms; this.now < until;) {
      this.now = Math.min(until, this.now + stepMs);
      const due = this.#sleepers.filter(({ at }) => at <= this.now);
      this.#sleepers = this.#sleepers.filter(({ at }) => at > this.now);
      for (const { wake } of due) wake();
      await this.settle();
    }
  }

  /** Nothing here takes longer than some turns of the event loop. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  #start(task: Task): RunningCommand {
    const { id } = task;
    if (this.running.has(id)) this.overlaps.push(id);
    let end: (ended: Ended) => void = () => undefined;
    const ended = new Promise<Ended>((resolve) => {
      end = resolve;
    });
    const finish = (outcome: Partial<Ended>): void => {
      this.running.delete(id);
      const plain = {
        reason: 'exit',
        exitCode: null,
        signal: null,
        output: '',
        omittedBytes: 0,
      } as const;
      end({ ...plain, ...outcome });
    };
    this.running.set(id, { task, end: finish });
    return {
      pid: 4242,
      begin: () => this.began.push(id),
      kill: (signal) => {
        this.killed.push(`${id} ${signal}`);
        if (signal === 'SIGKILL') finish({ reason: 'signal', signal });
      },
      ended,
    };
  }
}
