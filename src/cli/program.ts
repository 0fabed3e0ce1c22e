import type { Command } from 'commander';
import { commonOptions, toCommandIo } from './kit/command.ts';
import type { CommandIo, CommonOptions, QuipuShell } from './kit/command.ts';
import { reportError } from './kit/report-error.ts';
import { runProgram } from './kit/run-program.ts';
import { alone, toCommands, type Noun, type Program } from './kit/verb.ts';

export const NOUNS: readonly Noun<CommandIo>[] = [
  {
    name: 'context',
    summary: 'Contexts, and the turns in them.',
    load: async () => [
      ...(await import('./nouns/context.ts')).contextVerbs,
      ...(await import('./nouns/turn.ts')).turnVerbs,
      ...(await import('./nouns/overlay.ts')).overlayVerbs,
    ],
  },
  {
    name: 'workflow',
    summary: 'Workflow threads, and the bundles that run them.',
    load: async () => [
      ...(await import('./nouns/bundle.ts')).bundleVerbs,
      ...(await import('./nouns/workflow.ts')).workflowVerbs,
    ],
  },
  {
    name: 'session',
    summary: 'Sessions of coding agents, with their artifacts.',
    load: async () => [
      ...(await import('./nouns/session.ts')).sessionVerbs,
      ...(await import('./nouns/carry.ts')).carryVerbs,
    ],
  },
  {
    name: 'chat',
    summary: 'Chats: messages, questions and events.',
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
    summary: 'Queues of events, and the handlers of their consumers.',
    load: async () => (await import('./nouns/queue.ts')).queueVerbs,
  },
  {
    name: 'token',
    summary: 'Tokens that let clients use a server.',
    load: async () => (await import('./nouns/token.ts')).tokenVerbs,
  },
];

export const quipu: Program<CommandIo> = {
  name: 'quipu',
  summary: 'Durable memory for AI agents.',
  examples: [
    'ctx=$(quipu context create --title "fix the parser")',
    `quipu context append $ctx --type chat.message --json-payload '{"role":"user","text":"hi"}'`,
    'quipu context last $ctx',
  ],
  exits: '0 done, 1 the operation failed, 2 the command line or the input is wrong',
  common: commonOptions,
  commonFirst: true,
  nouns: [
    alone(async () => (await import('./nouns/store.ts')).firstVerbs),
    alone(async () => (await import('./nouns/history.ts')).historyVerbs),
    alone(async () => (await import('./nouns/search.ts')).searchVerbs),
    ...NOUNS,
    alone(async () => (await import('./nouns/store.ts')).upkeepVerbs),
    // A store is what all commands are about, so its verbs stand alone. Those who guess find the first two here, too.
    {
      name: 'store',
      summary: 'The store itself.',
      hidden: true,
      load: async () => (await import('./nouns/store.ts')).guessedVerbs,
    },
    alone(async () => {
      const { completionVerb } = await import('./kit/completion.ts');
      return [completionVerb(quipu, (io, text) => io.shell.out(text))];
    }),
  ],
};

/** Options before a command's name are the program's, after it the command's. */
export async function createProgram(shell: QuipuShell, firstWord?: string): Promise<Command> {
  return toCommands(quipu, {
    firstWord,
    toIo: (command) => toCommandIo(shell, command.optsWithGlobals<CommonOptions>()),
  });
}

/** Runs one command line of `quipu` (without the program's name) and returns its exit code: 0, 1 or 2. */
export async function runCli(argv: readonly string[], shell: QuipuShell): Promise<number> {
  return runProgram((firstWord) => createProgram(shell, firstWord), argv, {
    out: (text) => shell.out(text),
    err: (text) => shell.err(text),
    report: (error, json) => reportError(error, json, shell),
  });
}
