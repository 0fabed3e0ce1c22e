import { given } from '../../base/given.ts';
import { CommanderError } from 'commander';
import { quipuVerb, toHash } from '../kit/command.ts';
import type { QuipuVerb, CommandIo, QuipuShell } from '../kit/command.ts';
import { readInput, readWhole } from '../kit/files.ts';
import { parseCount } from '../kit/parse.ts';
import { findBundle } from './short-hash.ts';
import { argument, option } from '../kit/verb.ts';
import type {
  Step,
  ThreadDetails,
  RunResult,
  ThreadOptions,
} from '../../workflow/threads/workflows.ts';
import { Interrupted, Unhealthy } from '../kit/report-error.ts';
import { tableOf, escapeControls, toPlainLine, toTime, type ShowRows } from '../kit/text.ts';

const BUNDLE_BYTES_MAX: number = 4 * 1024 * 1024;

const SESSION_OPTION = option(
  '--session <session>',
  'session that artifact:// refers to in the texts of roles',
);

export const bundleVerbs: readonly QuipuVerb[] = [
  quipuVerb({
    name: 'add',
    summary: 'Register a bundle, an ES module, under a name, and print its hash.',
    examples: [
      'quipu workflow add solve-issue.mjs',
      'quipu workflow add solve-issue.mjs --name solve --json',
    ],
    takes: [
      argument('<file>', 'the module, or - for standard input'),
      option('--name <name>', 'name to use instead of the one in its descriptor'),
    ],
    async give(io, file, name) {
      const source = await readWhole(readInput(io.shell, file), BUNDLE_BYTES_MAX);
      const { bundles } = (await io.createStore()).workflows;
      return bundles.add(source, { ...name, ...(file !== '-' && { file }) });
    },
    show: toHash,
  }),
  quipuVerb({
    name: 'history',
    summary: 'List the bundles that a name has had, oldest first.',
    examples: ['quipu workflow history solve-issue'],
    takes: [argument('<workflow>', 'the name')],
    list: async (io, name) => (await io.openStore()).workflows.bundles.history(name),
    columns: [
      ['SINCE', ({ since }, screen) => screen.time(since)],
      ['BUNDLE', ({ hash }) => hash],
    ],
  }),
  quipuVerb({
    name: 'rollback',
    summary: 'Make an earlier bundle of a workflow current again, and print its hash.',
    examples: [
      'quipu workflow rollback solve-issue',
      'quipu workflow rollback solve-issue --to $hash',
    ],
    takes: [
      argument('<workflow>', 'the name'),
      option('--to <hash>', 'which bundle (default: the one before)'),
    ],
    async give(io, name, { to }) {
      const store = await io.openStore();
      const target = to === undefined ? undefined : await findBundle(store, name, to);
      return store.workflows.bundles.rollback(name, target);
    },
    show: toHash,
  }),
  quipuVerb({
    name: 'run',
    summary: 'Run a workflow here to its end, and print the id of its thread.',
    examples: [
      'quipu workflow run solve-issue --prompt "the parser drops the last line"',
      'id=$(quipu workflow run solve-issue --prompt-file issue.md)',
    ],
    takes: [
      argument('<workflow>', 'the name it was added under'),
      option('--prompt <text>', 'the task'),
      option('--prompt-file <file>', 'the task in a file, or - for standard input'),
      option('--max-rounds <n>', 'how many steps at most', parseCount),
      SESSION_OPTION,
    ],
    async run(io, name, options) {
      const { shell } = io;
      const { prompt: text, promptFile: file, maxRounds } = options;
      const prompt = await readGivenText(shell, { text, file }, '--prompt and --prompt-file');
      const { workflows } = await io.openStore();
      const result = await workflows.run(name, {
        ...watchRun(shell, io.json, options),
        prompt,
        ...(maxRounds !== undefined && { maxRounds }),
        onStart: (id) => io.json || shell.err(`thread ${id}\n`),
      });
      await reportRun(io, result);
    },
  }),
  quipuVerb({
    name: 'resume',
    summary:
      'Continue a thread after its last step, if it was paused or stopped, or if its process died.',
    examples: ['quipu workflow resume $id'],
    takes: [argument('<thread>', 'thread id'), SESSION_OPTION],
    async run(io, id, options) {
      const { workflows } = await io.openStore();
      const watching = watchRun(io.shell, io.json, options);
      await reportRun(io, await workflows.resume(id, watching));
    },
  }),
  quipuVerb({
    name: 'pause',
    summary: 'Stop a thread after its present step.',
    examples: ['quipu workflow pause $id'],
    takes: [argument('<thread>', 'thread id')],
    give: async (io, id) => (await io.openStore()).workflows.pause(id),
  }),
  quipuVerb({
    name: 'kill',
    summary: 'End a thread at once, with return code 130.',
    examples: ['quipu workflow kill $id --reason "wrong branch"'],
    takes: [
      argument('<thread>', 'thread id'),
      option('--reason <text>', 'reason to record with the end'),
    ],
    give: async (io, id, { reason }) => (await io.openStore()).workflows.kill(id, reason),
  }),
];

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

/** Follows a run on a terminal. The steps go to standard error, where they are in nobody's way. */
function watchRun(
  shell: QuipuShell,
  json: boolean,
  { session }: { readonly session?: string },
): ThreadOptions {
  return {
    ...given({ session }),
    cwd: shell.cwd,
    signal: shell.catchInterrupt(),
    onStep: (step) => {
      if (!json) shell.err(toStepLine(step));
    },
  };
}

/** Standard output holds the thread alone. The exit code and a line on standard error tell how the run ended. */
async function reportRun(io: CommandIo, result: RunResult): Promise<void> {
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

/** Reads a text that is given on the command line or in a file; `-` is standard input. */
export async function readGivenText(
  shell: QuipuShell,
  { text, file }: Readonly<Record<'text' | 'file', string | undefined>>,
  names: string,
): Promise<string> {
  if ((text === undefined) === (file === undefined)) {
    throw new CommanderError(2, 'quipu.text', `give one of ${names}`);
  }
  if (text !== undefined) return text;
  const bytes = await readWhole(readInput(shell, file ?? '-'), TEXT_BYTES_MAX);
  return Buffer.from(bytes).toString('utf8');
}
