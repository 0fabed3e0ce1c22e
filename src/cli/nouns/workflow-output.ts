import { CommanderError } from 'commander';
import type { Step, ThreadDetails, RunResult } from '../../workflow/threads/workflows.ts';
import type { CommandIo, QuipuShell } from '../kit/command.ts';
import { readInput, readWhole } from '../kit/input.ts';
import { Interrupted, Unhealthy } from '../kit/report-error.ts';
import { tableOf, escapeControls, toPlainLine, toTime, type ShowRows } from '../kit/text.ts';
import { option, type OptionOf } from '../kit/verb.ts';

const CONTENT_CHARS = 100;
const HASH_CHARS = 12;
const PROMPT_CHARS = 60;

/** Names of workflows are lower case, so one look tells a thread from a workflow. */
export function isThread(text: string): boolean {
  return /^[0-9A-HJKMNP-TV-Z]{26}$/.test(text);
}

export function toStepLine({ hash, role, timestamp, content = '', childThread }: Step): string {
  const child = childThread === undefined ? '' : ` [${childThread}]`;
  const text = toPlainLine(content.trimEnd(), CONTENT_CHARS);
  return `${hash.slice(0, HASH_CHARS)}  ${toTime(timestamp)}  ${escapeControls(role)}${child}  ${text}\n`;
}

export const showThreads: ShowRows<ThreadDetails> = tableOf([
  ['THREAD', ({ id }) => id],
  ['STATE', ({ state, outcome = state }) => outcome],
  ['CODE', ({ returnCode = '' }) => returnCode, 'right'],
  ['UPDATED', ({ updatedAt }, screen) => screen.time(updatedAt)],
  ['WORKFLOW', ({ name = '' }) => name],
  ['PROMPT', ({ prompt = '' }) => toPlainLine(prompt, PROMPT_CHARS)],
]);

const TEXT_BYTES_MAX: number = 8 * 1024 * 1024;

interface Watching {
  readonly cwd: string;
  readonly signal: AbortSignal;
  readonly onStep: (step: Step) => void;
}

export interface RunningOptions {
  readonly session?: string;
}

export const SESSION_OPTION: OptionOf<RunningOptions> = option(
  '--session <session>',
  'session that artifact:// refers to in the texts of roles',
);

/** Follows a run on a terminal. The steps go to standard error, where they are in nobody's way. */
export function watchRun(
  shell: QuipuShell,
  json: boolean,
  { session }: RunningOptions,
): Watching & RunningOptions {
  return {
    ...(session !== undefined && { session }),
    cwd: shell.cwd,
    signal: shell.catchInterrupt(),
    onStep: (step) => {
      if (!json) shell.err(toStepLine(step));
    },
  };
}

/** Standard output holds the thread alone. The exit code and a line on standard error tell how the run ended. */
export async function reportRun(io: CommandIo, result: RunResult): Promise<void> {
  const { threadId, state, returnCode, summary = '' } = result;
  await io.print(result, () => `${threadId}\n`);
  if (state === 'interrupted') {
    throw new Interrupted(`stopped; go on with: quipu workflow resume ${threadId}`);
  }
  if (state === 'completed' && returnCode !== 0) {
    throw new Unhealthy(`thread ${threadId} ended with ${returnCode}: ${summary}`);
  }
  if (state !== 'completed' && !io.json) io.shell.err(`thread ${threadId} is ${state}\n`);
}

export interface TextOptions {
  readonly text: string | undefined;
  readonly file: string | undefined;
}

/** Reads a text that is given on the command line or in a file; `-` is standard input. */
export async function readGivenText(
  shell: QuipuShell,
  { text, file }: TextOptions,
  names: string,
): Promise<string> {
  if ((text === undefined) === (file === undefined)) {
    throw new CommanderError(2, 'quipu.text', `give one of ${names}`);
  }
  if (text !== undefined) return text;
  const bytes = await readWhole(readInput(shell, file ?? '-'), TEXT_BYTES_MAX);
  return Buffer.from(bytes).toString('utf8');
}
