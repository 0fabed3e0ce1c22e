import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { resolve, join } from 'node:path';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createHash } from 'node:crypto';
import { InvalidArgumentError } from 'commander';
import { only } from '../../base/check-value.ts';
import { corrupt, exists, invalid } from '../../base/errors.ts';
import { toLine } from '../../queue/events/event-line.ts';
import {
  inQueueWords,
  isQueueFolder,
  mustBeQueue,
  mustHaveBeenQueue,
} from '../../queue/sqlite/queue-folder.ts';
import { createQueueFolder } from '../../queue/sqlite/open-database.ts';
import { LIMIT_DEFAULT } from '../../queue/events/check-input.ts';
import type { ProcessStreams } from '../kit/process.ts';
import { readPushed, toQueueText } from '../kit/queue-events.ts';
import { EVENT_TYPES, parseCount } from '../kit/parse.ts';
import { argument, oneOf, option, preset, required } from '../kit/verb.ts';
import type { Takes, TypedVerb, Verb } from '../kit/verb.ts';
import { programFile } from '../../base/program-file.ts';
import { askForDispatch } from '../../queue/dispatch/consumer-lock.ts';
import { SqliteQueue } from '../../queue/sqlite-queue.ts';

/** A verb of `thread`. */
export type ThreadVerb = Verb<ThreadShell>;

function threadVerb<const T extends Takes = []>(verb: TypedVerb<ThreadShell, T>): ThreadVerb {
  return verb as unknown as ThreadVerb;
}

const THREAD = required('--thread <path>', 'the thread directory', parseFilled);
const JSON_OPTION = option('--json', 'print JSON, and errors as {"error","suggestion"}');

/** `--help --verbose` shows these texts. */
function paragraphs(...texts: string[]): string {
  return texts.join('\n\n');
}

export const threadVerbs: readonly ThreadVerb[] = [
  threadVerb({
    name: 'init',
    summary: 'Turn a directory into a thread.',
    more: paragraphs(
      'Creates events.db, events.jsonl, run/ and logs/. The directory may exist and hold other files. If it\nis a thread already, the command changes nothing and ends with code 1. To remove a thread, delete its directory.',
    ),
    examples: ['thread init ./inbox', 'thread init agents/admin/inbox'],
    takes: [argument('<path>', 'the directory', parseFilled)],
    async run(shell, path) {
      const folder = resolve(shell.cwd, path);
      if (!createQueueFolder(folder)) {
        throw exists('thread', folder, `${folder} is a thread directory already`);
      }
      await shell.out(`Initialized thread ${folder}\n`);
    },
  }),
  threadVerb({
    name: 'push',
    summary: 'Append an event, or a batch of events from standard input.',
    more: paragraphs(
      'The event is on the disk before the command prints its id. Then the command wakes the handlers and does not wait\nfor them: it asks the notifier to dispatch, in the background. If that fails, it starts the handlers without it.',
      'Sources: external:<channel_type>:<channel_id>:<session_type>:<session_id>:<peer_id>,\ninternal:<session_type>:<session_id>:<agent_id>, self, or a plain name.',
      'With --batch, every line of standard input is an object with "source", "type", "content" and optionally\n"subtype". All lines are stored, or none.',
    ),
    examples: [
      'thread push --thread ./inbox --source self --type record --subtype decision --content "go on"',
      "thread push --thread ./inbox --source internal:dm:default:warden --type message --content 'hello'",
      'thread push --thread ./inbox --batch < events.ndjson',
    ],
    takes: [
      THREAD,
      option('--source <name>', 'source of the event', parseFilled),
      oneOf('--type <type>', 'type of the event', EVENT_TYPES),
      option('--subtype <subtype>', 'subtype: a lower-case word', parseFilled),
      option('--content <data>', 'content of the event'),
      option('--batch', 'read one JSON object a line from standard input'),
      JSON_OPTION,
    ],
    async run(shell, options) {
      const { batch = false, json = false } = options;
      await withQueue(shell, options, async (queue) => {
        const events = await readPushed(shell.stdin, options, (option) =>
          invalid(`required option '${option}'`, 'is not given'),
        );
        const ids = batch ? await queue.pushBatch(events) : [await queue.push(only(events))];
        const pushed = batch ? { ids } : { id: ids[0] };
        await shell.out(json ? `${JSON.stringify(pushed)}\n` : toText(ids));
        const last = events.at(-1);
        if (last !== undefined) wake(shell, queue, last.source);
      });
    },
  }),
  threadVerb({
    name: 'pop',
    summary: 'Acknowledge the events that were handled, and print the next ones.',
    more: paragraphs(
      '--last-event-id is the newest event that was handled, 0 for none. The command acknowledges it and all events\nbefore it. Then it prints the next events that match the filter of the consumer, one JSON object a line.',
      'A consumer pops, handles, pops with the last id it handled, and ends when nothing is printed. After a crash it\ngets the events again that it had not acknowledged.',
    ),
    examples: [
      'thread pop --thread ./inbox --consumer worker-1 --last-event-id 0',
      'thread pop --thread ./inbox --consumer worker-1 --last-event-id 42 --limit 10',
    ],
    takes: [
      THREAD,
      required('--consumer <id>', 'name of the consumer', parseFilled),
      required('--last-event-id <id>', 'the newest event that was handled', parseCount),
      preset('--limit <n>', 'how many at most', parseCount, LIMIT_DEFAULT),
      JSON_OPTION,
    ],
    async run(shell, options) {
      const { consumer, lastEventId, limit } = options;
      const events = await withQueue(shell, options, (queue) =>
        queue.pop(consumer, { lastEventId, limit }),
      );
      for (const event of events) await shell.out(toLine(event));
    },
  }),
  threadVerb({
    name: 'peek',
    summary: 'Print events and change nothing.',
    more: paragraphs(
      'A filter is a condition over id, created_at, source, type, subtype and content: comparisons, LIKE, GLOB, IN,\nBETWEEN, IS NULL, AND, OR, NOT and parentheses, with texts in single quotes.',
    ),
    examples: [
      'thread peek --thread ./inbox --last-event-id 0 --limit 5',
      `thread peek --thread ./inbox --last-event-id 0 --filter "source LIKE 'external:%'"`,
      `thread peek --thread ./inbox --last-event-id 0 --filter "type = 'record' AND subtype = 'decision'"`,
    ],
    takes: [
      THREAD,
      required('--last-event-id <id>', 'print events after this one', parseCount),
      preset('--limit <n>', 'how many at most', parseCount, LIMIT_DEFAULT),
      option('--filter <sql-where>', `such as "type = 'message'"`, parseFilled),
      JSON_OPTION,
    ],
    async run(shell, options) {
      const events = await withQueue(shell, options, (queue) => queue.peek(options));
      for (const event of events) await shell.out(toLine(event));
    },
  }),
  threadVerb({
    name: 'subscribe',
    summary: 'Register a consumer: which events, and the command that handles them.',
    more: paragraphs(
      'The handler is a command of one line for the shell. It finds the thread and its own name in THREAD_DIR and\nTHREAD_CONSUMER, and pops until nothing is left.',
      'A filter is a condition over id, created_at, source, type, subtype and content; see thread peek. It decides which\nevents start the handler and which ones it pops.',
    ),
    examples: [
      'thread subscribe --thread ./inbox --consumer worker-1 --handler "./work.sh"',
      `thread subscribe --thread ./inbox --consumer reader --handler "./work.sh" --filter "source LIKE '%:warden'"`,
    ],
    takes: [
      THREAD,
      required('--consumer <id>', 'a name, without slashes', parseFilled),
      required('--handler <cmd>', 'the command', parseFilled),
      option(
        '--filter <sql-where>',
        `such as "type = 'message'" (default: all events)`,
        parseFilled,
      ),
      JSON_OPTION,
    ],
    async run(shell, options) {
      const row = await withQueue(shell, options, async (queue) => {
        const subscribed = await queue.subscribe(options);
        noteThread(shell, queue.folder.path);
        return subscribed;
      });
      const text = `Subscribed ${row.consumer_id}\n`;
      await shell.out(options.json === true ? `${JSON.stringify(row)}\n` : text);
    },
  }),
  threadVerb({
    name: 'unsubscribe',
    summary: 'Remove a consumer. Its progress stays, for when it subscribes again.',
    more: paragraphs('A running handler is not stopped, but it is not run again.'),
    examples: ['thread unsubscribe --thread ./inbox --consumer worker-1'],
    takes: [THREAD, required('--consumer <id>', 'name of the consumer', parseFilled)],
    async run(shell, options) {
      await withQueue(shell, options, (queue) => queue.unsubscribe(options.consumer));
      await shell.out(`Unsubscribed ${options.consumer}\n`);
    },
  }),
  threadVerb({
    name: 'info',
    summary: 'Print the number of events, the consumers, and how far each one is.',
    more: paragraphs(
      'LAG counts the events that match and are not acknowledged, up to 10,000. STATE is idle, running, or failed\n(the handler failed ten times in a row). A running handler has its process: kill -- -<process> ends it.',
    ),
    examples: ['thread info --thread ./inbox', 'thread info --thread ./inbox --json'],
    takes: [THREAD, JSON_OPTION],
    async run(shell, options) {
      const found = await withQueue(shell, options, (queue) => queue.info());
      await shell.out(options.json === true ? `${JSON.stringify(found)}\n` : toQueueText(found));
    },
  }),
  threadVerb({
    name: 'dispatch',
    summary:
      'Start the handlers of consumers that have events to handle. A push does it by itself.',
    more: paragraphs(
      'A consumer whose handler runs is skipped: the handler is run again when it ends and there is more to do. A\nhandler that fails is run again after growing pauses. After ten failures in a row its consumer is marked\nfailed, and each dispatch runs it once.',
      '--all does so for every thread with consumers, for example after a restart of the machine. See notifier install.',
    ),
    examples: ['thread dispatch --thread ./inbox', 'thread dispatch --all'],
    takes: [
      option('--thread <path>', 'the thread directory', parseFilled),
      option('--all', 'every thread with consumers'),
    ],
    async run(shell, { thread, all = false }) {
      if ((thread === undefined) !== all) {
        throw invalid("one of the options '--thread' and '--all'", 'is needed, and only one');
      }
      if (thread !== undefined) return dispatchOne(shell, thread, '');
      for (const path of knownThreads(shell)) await dispatchKnown(shell, path);
    },
  }),
  threadVerb({
    name: 'verify',
    summary: 'Read every event, and check that none is missing or damaged.',
    more: paragraphs(
      '--repair takes missing and damaged events from events.jsonl and the older files beside it. Events that are in\nneither are recorded as lost, and reads skip them from then on. A database that cannot be read is put aside.\nNothing is deleted. Stop all programs that use the thread first.',
    ),
    examples: ['thread verify --thread ./inbox', 'thread verify --thread ./inbox --repair'],
    takes: [THREAD, option('--repair', 'repair what can be repaired'), JSON_OPTION],
    async run(shell, options) {
      // This module is loaded here: other commands do not need it.
      const { repairQueue, verifyQueue } = await import('../../queue/upkeep/queue-health.ts');
      const folder = mustHaveBeenQueue(resolve(shell.cwd, options.thread));
      const lost =
        options.repair === true ? inQueueWords(folder.path, () => repairQueue(folder)) : [];
      const problems = await verifyQueue(folder);
      const ok = problems.length === 0;
      if (options.json === true) await shell.out(`${JSON.stringify({ ok, lost, problems })}\n`);
      else for (const line of [...lost, ...problems]) await shell.out(`${line}\n`);
      if (ok && options.json !== true) await shell.out('ok\n');
      if (ok) return;
      const message = `events.db in ${folder.path} is damaged: ${problems[0] ?? ''}`;
      throw corrupt('events.db', message);
    },
  }),
];

function toText(ids: readonly number[]): string {
  if (ids.length === 1) return `Pushed event ${ids[0] ?? ''}\n`;
  if (ids.length === 0) return 'Pushed 0 events\n';
  return `Pushed ${ids.length} events (${ids[0] ?? ''}-${ids.at(-1) ?? ''})\n`;
}

async function dispatchOne(shell: ThreadShell, thread: string, prefix: string): Promise<void> {
  const report = await withQueue(shell, { thread }, (queue) => queue.dispatch());
  for (const consumer of report.started) await shell.out(`${prefix}started ${consumer}\n`);
  for (const { consumer, reason } of report.skipped) {
    shell.err(`${prefix}skipped ${consumer} (${reason})\n`);
  }
}

/** A thread that cannot be used does not stop the others. */
async function dispatchKnown(shell: ThreadShell, path: string): Promise<void> {
  // A disk that is not there yet may come back. A directory that is no longer a thread will not.
  if (existsSync(path) && !isQueueFolder(path)) return forgetThread(shell, path);
  try {
    await dispatchOne(shell, path, `${path}: `);
  } catch (error) {
    shell.err(`Warning: ${path}: ${(error as Error).message}\n`);
  }
}

/** The shell that called `thread`: all that a command may touch besides the queue's folder. */
export interface ThreadShell extends Pick<ProcessStreams, 'out' | 'err'> {
  /** Opened on first use. */
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The script that runs, as it was called. */
  readonly script: string;
  /** The program that runs scripts. */
  readonly execPath: string;
}

export interface ThreadOptions {
  readonly thread: string;
  readonly json?: boolean;
}

/** Opens the queue for one command. Pushing wakes nobody by itself: the command does that, through the notifier. */
export async function withQueue<T>(
  shell: ThreadShell,
  { thread }: ThreadOptions,
  work: (queue: SqliteQueue) => Promise<T>,
): Promise<T> {
  const queue = new SqliteQueue(mustBeQueue(resolve(shell.cwd, thread)), {
    wakes: false,
    warn: (text) => shell.err(`Warning: ${text}\n`),
  });
  try {
    return await work(queue);
  } finally {
    await queue.close();
  }
}

export function parseFilled(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('Expected a text that is not empty.');
}

// The list of threads that have consumers, for `dispatch --all`: a file for each, beside the spool of the notifier that
// wakes them. A thread is its directory and needs no entry. A thread without an entry is only not woken after a restart
// of the machine.

function placeOf({ env }: ThreadShell): string | undefined {
  const { NOTIFIER_HOME: named, HOME: home } = env;
  if (named !== undefined && named !== '') return join(named, 'threads');
  return home === undefined || home === ''
    ? undefined
    : join(home, '.local/share/notifier/threads');
}

function entryOf(place: string, path: string): string {
  return join(place, createHash('sha256').update(path).digest('hex').slice(0, 32));
}

/** A failure here never fails the command that calls it. */
export function noteThread(shell: ThreadShell, path: string): void {
  const place = placeOf(shell);
  if (place === undefined) return;
  try {
    const entry = entryOf(place, path);
    if (existsSync(entry)) return;
    mkdirSync(place, { recursive: true, mode: 0o700 });
    writeFileSync(entry, path, { mode: 0o600 });
  } catch (error) {
    const why = (error as Error).message;
    shell.err(`Warning: ${path} will not be found by thread dispatch --all (${why})\n`);
  }
}

/** Returns the directories of the threads. Some of them may be gone. */
export function knownThreads(shell: ThreadShell): string[] {
  const place = placeOf(shell);
  if (place === undefined || !existsSync(place)) return [];
  const paths = readdirSync(place).map((name) => readFileSync(join(place, name), 'utf8'));
  // An entry that was cut off by a crash is not a path.
  return paths.filter((path) => existsSync(entryOf(place, path))).toSorted();
}

export function forgetThread(shell: ThreadShell, path: string): void {
  const place = placeOf(shell);
  if (place !== undefined) rmSync(entryOf(place, path), { force: true });
}

const WAKER: string = fileURLToPath(programFile('cli/thread/waker-main.js'));

/**
 * Makes sure that handlers run for the pushed events, and waits for nobody. A running handler's supervisor looks again
 * before it ends. A dispatch that was asked for and has not begun will see the events. Otherwise a new process asks the
 * notifier. A notifier that somebody named is asked for every push.
 */
export function wake(shell: ThreadShell, queue: SqliteQueue, author: string): void {
  const hasIdle = queue.hasIdleConsumers();
  const isNamed = (shell.env['THREAD_NOTIFIER'] ?? '') !== '';
  if (!isNamed && !(hasIdle && askForDispatch(queue.folder, Date.now()))) return;
  // This also notes a thread that was subscribed to by other means.
  if (hasIdle) noteThread(shell, queue.folder.path);
  const args = [WAKER, queue.folder.path, author, shell.script];
  const child = spawn(shell.execPath, args, {
    cwd: shell.cwd,
    env: shell.env,
    detached: true,
    stdio: 'ignore',
  });
  child.on('error', (error) => {
    shell.err(`Warning: nobody was woken (${error.message}) - run: thread dispatch\n`);
  });
  child.unref();
}
