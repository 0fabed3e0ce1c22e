import { Command } from 'commander';
import { commonOptions, quipuKit } from './kit/command.ts';
import type { CommandIo, QuipuShell } from './kit/command.ts';
import { readVersion, toCommand, toGroup } from './kit/verb.ts';
import type { Noun } from './kit/verb.ts';
import { reportError } from './kit/report-error.ts';
import { runProgram } from './kit/run-program.ts';

export const NOUNS: readonly Noun<CommandIo>[] = [
  {
    name: 'context',
    summary: 'Turns and the contexts that lead to them.',
    load: async () => [
      ...(await import('./nouns/context.ts')).contextVerbs,
      ...(await import('./nouns/turn.ts')).turnVerbs,
      ...(await import('./nouns/overlay.ts')).overlayVerbs,
    ],
  },
  {
    name: 'workflow',
    summary: 'Threads of agents with roles, and what runs them.',
    load: async () => [
      ...(await import('./nouns/bundle.ts')).bundleVerbs,
      ...(await import('./nouns/workflow.ts')).workflowVerbs,
    ],
  },
  {
    name: 'session',
    summary: 'What coding agents write, with its artifacts.',
    load: async () => [
      ...(await import('./nouns/session.ts')).sessionVerbs,
      ...(await import('./nouns/carry.ts')).carryVerbs,
    ],
  },
  {
    name: 'chat',
    summary: 'Chats: events, and the messages they tell.',
    load: async () => [
      ...(await import('./nouns/chat.ts')).chatVerbs,
      ...(await import('./nouns/message.ts')).messageVerbs,
    ],
  },
  {
    name: 'blob',
    summary: 'Immutable bytes by their hash.',
    load: async () => (await import('./nouns/blob.ts')).blobVerbs,
  },
  {
    name: 'queue',
    summary: 'Events, and the handlers they wake.',
    load: async () => (await import('./nouns/queue.ts')).queueVerbs,
  },
  {
    name: 'token',
    summary: 'Who may use a server.',
    load: async () => (await import('./nouns/token.ts')).tokenVerbs,
  },
];

const START = `
Examples:
  $ ctx=$(quipu context create --title "fix the parser")
  $ quipu context append $ctx --type chat.message --json-payload '{"role":"user","text":"hi"}'
  $ quipu context last $ctx

Exit codes: 0 done, 1 the store said no, 2 the command line or the input is wrong.`;

/**
 * Creates the tree of commands. Options before a command's name are the program's, after it the command's. When the
 * first word of the command line is the name of a noun, or of a verb of the store, the tree holds nothing else.
 */
export async function createProgram(shell: QuipuShell, firstWord?: string): Promise<Command> {
  const kit = quipuKit(shell);
  const program = new Command('quipu')
    .description('Durable memory for AI agents.')
    .version(readVersion())
    .enablePositionalOptions()
    .addHelpText('after', START);
  for (const common of commonOptions()) program.addOption(common);
  const named = NOUNS.find(({ name }) => name === firstWord);
  if (named !== undefined)
    return program.addCommand(toGroup('quipu', named, await named.load(), kit));

  const { firstVerbs, upkeepVerbs } = await import('./nouns/store.ts');
  const isOfStore = [...firstVerbs, ...upkeepVerbs].some(({ name }) => name === firstWord);
  for (const verb of firstVerbs) program.addCommand(toCommand(verb, kit));
  for (const noun of isOfStore ? [] : NOUNS) {
    program.addCommand(toGroup('quipu', noun, await noun.load(), kit));
  }
  for (const verb of upkeepVerbs) program.addCommand(toCommand(verb, kit));
  return program;
}

/** Runs one command line of `quipu` (without the program's name) and returns its exit code: 0, 1 or 2. */
export async function runCli(argv: readonly string[], shell: QuipuShell): Promise<number> {
  return runProgram(await createProgram(shell, argv[0]), argv, {
    out: (text) => shell.out(text),
    err: (text) => shell.err(text),
    report: (error, json) => reportError(error, json, shell),
  });
}
