import { CommanderError, type Command } from 'commander';
import { alone, toCommands, type Program } from '../kit/verb.ts';
import { threadVerbs, type ThreadShell } from './verbs.ts';
import { reportTold, runProgram, usageError, type Told } from '../kit/run-program.ts';
import { isQuipuError, type ErrorCode, type QuipuError } from '../../base/errors.ts';
import { quoteForShell } from '../../queue/notifier.ts';
import { outputHint } from '../kit/process.ts';

export const thread: Program<ThreadShell> = {
  name: 'thread',
  summary: 'Durable event queues in directories.',
  examples: [
    'thread init ./inbox',
    'thread subscribe --thread ./inbox --consumer worker-1 --handler "./work.sh"',
    'thread push --thread ./inbox --source internal:dm:default:warden --type message --content hello',
    'thread pop --thread ./inbox --consumer worker-1 --last-event-id 0',
    'thread info --thread ./inbox',
  ],
  exits: '0 done, 1 the operation failed, 2 the command line or the input is wrong',
  common: () => [],
  nouns: [
    alone(async () => threadVerbs),
    alone(async () => {
      const { completionVerb } = await import('../kit/completion.ts');
      return [{ ...completionVerb(thread, (shell, text) => shell.out(text)), hidden: true }];
    }),
  ],
};

const VERBOSE = '--verbose';

/** Runs one command line of `thread` (without the program's name) and returns its exit code. */
export async function runThread(argv: readonly string[], shell: ThreadShell): Promise<number> {
  // The word belongs to the help alone, so that it is an unknown option anywhere else.
  const asksHelp = argv.includes('--help') || argv.includes('-h') || argv[0] === 'help';
  const verbose = asksHelp && argv.includes(VERBOSE);
  const words = verbose ? argv.filter((word) => word !== VERBOSE) : argv;
  const create = (): Promise<Command> => toCommands(thread, { toIo: () => shell, brief: !verbose });
  return runProgram(create, words, {
    out: (data) => shell.out(data),
    err: (text) => shell.err(text),
    report: reportTold((thrown) => toTold(thrown, argv), shell),
  });
}

const USAGE = 2;
const LOGIC = 1;

const SUGGESTIONS: Partial<Record<ErrorCode, string>> = {
  TOO_LARGE: 'push less at a time, or put large data elsewhere and push a reference to it',
  DISK_FULL: 'free some space and try again; nothing was stored',
  READ_ONLY: 'check the owner and mode of the directory and of the files in it',
  LOCKED: 'try again',
  IO: 'check the disk and the permissions',
};

function toTold(thrown: unknown, argv: readonly string[]): Told {
  if (thrown instanceof CommanderError) {
    const error = usageError(thrown);
    return { error, suggestion: suggestUsage(error, argv), exit: USAGE };
  }
  if (!isQuipuError(thrown)) {
    const error = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    return { error, suggestion: 'this is a fault of the program; please report it', exit: LOGIC };
  }
  const { code, message } = thrown;
  const exit = code === 'INVALID' || code === 'TOO_LARGE' ? USAGE : LOGIC;
  const suggestion =
    code === 'INVALID' ? suggestUsage(message, argv) : suggestionFor(thrown, threadIn(argv));
  return { error: message, suggestion, exit };
}

/** Names the missing part, where one is missing, and the help to read. */
function suggestUsage(error: string, [command = '']: readonly string[]): string {
  const isKnown = /^[a-z]+$/.test(command) && !error.startsWith('unknown command');
  const help = isKnown ? `thread ${command} --help --verbose` : 'thread --help';
  const [, missing] =
    /^required option '(--[^']+)' (?:is not given|not specified)/.exec(error) ?? [];
  return missing === undefined ? `see ${help}` : `add ${missing}; see ${help}`;
}

/** The option as it was given, for commands that are to be run in the same place. */
function threadIn(argv: readonly string[]): string {
  const at = argv.indexOf('--thread');
  const given = at === -1 ? argv.find((word) => word.startsWith('--thread=')) : argv[at + 1];
  return `--thread ${given === undefined ? '<path>' : quoteForShell(given.replace(/^--thread=/, ''))}`;
}

function suggestionFor(error: QuipuError, thread: string): string {
  const { code, data } = error;
  const what = 'what' in data ? data.what : '';
  const id = quoteForShell('id' in data ? String(data.id) : '');
  if (code === 'NOT_FOUND' && what === 'thread') return `run first: thread init ${id}`;
  if (code === 'NOT_FOUND' && what === 'subscription') {
    return `subscribe it with: thread subscribe ${thread} --consumer ${id} --handler <cmd>`;
  }
  if (code === 'EXISTS' && what === 'subscription') {
    return `run first: thread unsubscribe ${thread} --consumer ${id}, then subscribe again`;
  }
  if (code === 'EXISTS') return 'use it as it is, or choose another directory';
  if (code === 'CORRUPT') {
    return `run: thread verify ${thread} --repair, which takes what it can from events.jsonl; or restore a backup`;
  }
  return outputHint(error) ?? SUGGESTIONS[code] ?? 'see thread --help';
}
