import type { Command } from 'commander';
import { Option } from 'commander';
import { toPlainLine } from '../../cli/plain-text.ts';
import { toTime } from '../../cli/quantity.ts';
import { toTable } from '../../cli/table.ts';
import { defineCommand, withIo } from '../command.ts';
import { isServed } from '../daemon/daemon-note.ts';
import type { Spool, TaskState } from '../spool/spool.ts';
import type { FailedTask, Failure, Task } from '../spool/task.ts';
import type { World } from '../world.ts';

const STATES: readonly TaskState[] = ['running', 'pending', 'error'];
const COMMAND_CHARS = 60;

/** A task as it is shown: without its environment, which may hold secrets. */
interface Row extends Omit<Task, 'env'> {
  /** `interrupted`: it ran when the daemon ended, and will run again. */
  readonly state: TaskState | 'interrupted';
  /** Of the one that runs: its process, which leads a group of all that it started, and since when. */
  readonly pid?: number;
  readonly startedAt?: number;
  readonly failure?: Failure;
}

export function taskList(world: World): Command {
  return defineCommand('list', 'List tasks that run, wait or failed.', [
    'notifier task list',
    'notifier task list --state error --json',
  ])
    .addOption(new Option('--state <state>', 'only these').choices(STATES))
    .action(
      withIo(world, async (io, { state }: { readonly state?: TaskState }) => {
        const spool = io.findSpool();
        if (spool === undefined) return;
        const rows: Row[] = [];
        for (const wanted of state === undefined ? STATES : [state]) {
          rows.push(...(await readRows(spool, wanted)));
        }
        if (io.json) for (const row of rows) await io.print('', row);
        else if (rows.length > 0) await world.out(toRowTable(rows));
      }),
    );
}

async function readRows(spool: Spool, state: TaskState): Promise<Row[]> {
  const shown = state === 'running' && !isServed(spool.home) ? 'interrupted' : state;
  const rows: Row[] = [];
  for (const id of await spool.listIds(state)) {
    const task: Task | FailedTask | undefined =
      state === 'error' ? await spool.getFailed(id) : await spool.getTask(state, id);
    // It may have moved on since the folder was listed.
    if (task === undefined) continue;
    const { env: _, ...rest } = task;
    const run = shown === 'running' ? await spool.getRun(id) : undefined;
    rows.push({
      state: shown,
      ...rest,
      ...(run !== undefined && { pid: run.pid, startedAt: run.startedAt }),
    });
  }
  return rows;
}

function toRowTable(rows: readonly Row[]): string {
  const cells = rows.map((row) => [
    row.id,
    row.state,
    row.failure === undefined ? toRun(row) : toOutcome(row.failure),
    toTime(row.addedAt),
    toPlainLine(row.author, 32),
    toPlainLine(row.command, COMMAND_CHARS),
  ]);
  return toTable(['TASK', 'STATE', 'OUTCOME', 'ADDED', 'AUTHOR', 'COMMAND'], cells);
}

function toRun({ pid, startedAt }: Row): string {
  return pid === undefined ? '' : `process ${pid} since ${toTime(startedAt ?? 0)}`;
}

function toOutcome({ reason, exitCode, signal }: Failure): string {
  if (reason === 'exit') return `exit ${exitCode}`;
  return reason === 'signal' ? (signal ?? '') : reason;
}
