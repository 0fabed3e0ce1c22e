import { Refused, recordCaller, notifierVerb, type NotifierVerb } from './command.ts';
import { invalid } from '../../base/errors.ts';
import { parseDuration } from '../../cli/kit/parse.ts';
import { toPlainLine, toTable, toTime } from '../../cli/kit/text.ts';
import { argument, oneOf, option, required } from '../../cli/kit/verb.ts';
import { ensureDaemon, readSettings } from './daemon.ts';
import { isServed } from '../spool/home.ts';
import type { Spool, TaskState } from '../spool/spool.ts';
import { checkAuthor, checkCommand, checkId } from '../spool/records.ts';
import type { FailedTask, Failure, Task } from '../spool/records.ts';
import { randomBytes } from 'node:crypto';

const MAX_TIMEOUT_MS = 2 ** 31 - 1;

const add = notifierVerb({
  name: 'add',
  summary: 'Run a command soon, in the background.',
  examples: [
    'notifier task add --command "make report"',
    'notifier task add --task-id report --author alice --command "make report" --timeout 10m',
  ],
  takes: [
    required('--command <line>', 'what to run, as one line for /bin/sh; up to 100 KiB'),
    option(
      '--task-id <id>',
      'id of the task; refused while a task with this id is pending (default: a new one)',
    ),
    option('--author <name>', 'who asks for it, up to 4,096 characters, for lists alone'),
    option(
      '--timeout <time>',
      'end it after this long, such as 10m, up to 24d; then it has failed',
      parseDuration,
    ),
  ],
  async run(io, options) {
    const { shell } = io;
    const settings = readSettings(shell.env);
    const task = {
      id: checkId('task-id', options.taskId ?? `task-${randomBytes(6).toString('hex')}`),
      author: checkAuthor(options.author ?? ''),
      command: checkCommand(options.command),
      ...recordCaller(shell),
      ...(options.timeout !== undefined && { timeoutMs: checkTimeout(options.timeout) }),
    };
    const spool = await io.makeSpool();
    const added = await spool.add(task);
    // This runs also when the task is there already: the daemon that was to run it may have been killed.
    await ensureDaemon(io.home, settings, shell);
    if (!added) {
      throw new Refused(`task ${task.id} is already pending`, 'it will run; nothing to do');
    }
    await io.print(`Added task ${task.id}\n`, { id: task.id });
  },
});

function checkTimeout(timeoutMs: number): number {
  if (timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS) return Math.ceil(timeoutMs);
  throw invalid('timeout', 'takes a time from 1ms to 24d');
}

const STATES: readonly TaskState[] = ['running', 'pending', 'error'];
const COMMAND_CHARS = 60;

/** A task as it is shown: without its environment, which may hold secrets. */
interface Row extends Omit<Task, 'env'> {
  /** `interrupted`: the task ran when the daemon ended, and will run again. */
  readonly state: TaskState | 'interrupted';
  /** For a running task: its process, which leads a group of all that it started, and its start time. */
  readonly pid?: number;
  readonly startedAt?: number;
  readonly failure?: Failure;
}

const list = notifierVerb({
  name: 'list',
  summary: 'List tasks that run, wait or failed.',
  examples: ['notifier task list', 'notifier task list --state error --json'],
  takes: [oneOf('--state <state>', 'only these', STATES)],
  async run(io, { state }) {
    const { shell } = io;
    const spool = io.findSpool();
    if (spool === undefined) return;
    const rows: Row[] = [];
    for (const wanted of state === undefined ? STATES : [state]) {
      rows.push(...(await readRows(spool, wanted)));
    }
    if (io.json) for (const row of rows) await io.print('', row);
    else if (rows.length > 0) await shell.out(toRowTable(rows));
  },
});

async function readRows(spool: Spool, state: TaskState): Promise<Row[]> {
  const shown = state === 'running' && !isServed(spool.home) ? 'interrupted' : state;
  const rows: Row[] = [];
  for (const id of await spool.listIds(state)) {
    const task: Task | FailedTask | undefined =
      state === 'error' ? await spool.getFailed(id) : await spool.getTask(state, id);
    // The task may have moved on since the folder was listed.
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

const remove = notifierVerb({
  name: 'remove',
  summary: 'Remove a waiting task, and its failure.',
  examples: ['notifier task remove report'],
  takes: [argument('<task-id>', 'its name')],
  async run(io, given) {
    const id = checkId('task-id', given);
    const spool = io.findSpool();
    const removed = [
      (await spool?.remove('pending', id)) === true ? 'pending' : [],
      (await spool?.remove('error', id)) === true ? 'error' : [],
    ].flat();
    if (removed.length > 0) {
      await io.print(`Removed task ${id} (${removed.join(', ')})\n`, { id, removed });
      return;
    }
    if ((await spool?.getTask('running', id)) !== undefined) {
      const pid = (await spool?.getRun(id))?.pid;
      const end = pid === undefined ? 'run "notifier stop"' : `end it with: kill -- -${pid}`;
      throw new Refused(`task ${id} is running`, `wait for its end, or ${end}`);
    }
    throw new Refused(`there is no task ${id}`, 'see "notifier task list"');
  },
});

const retry = notifierVerb({
  name: 'retry',
  summary: 'Run a failed task again.',
  examples: ['notifier task retry report'],
  takes: [argument('<task-id>', 'its name')],
  async run(io, given) {
    const { shell } = io;
    const settings = readSettings(shell.env);
    const id = checkId('task-id', given);
    const outcome = (await io.findSpool()?.retry(id)) ?? 'missing';
    if (outcome === 'missing') {
      throw new Refused(`there is no failed task ${id}`, 'see "notifier task list --state error"');
    }
    await ensureDaemon(io.home, settings, shell);
    if (outcome === 'taken') {
      throw new Refused(`task ${id} is already pending`, 'it will run; nothing to do');
    }
    await io.print(`Added task ${id} again\n`, { id });
  },
});

export const taskVerbs: readonly NotifierVerb[] = [add, list, remove, retry];
