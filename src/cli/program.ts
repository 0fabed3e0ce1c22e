import { Command } from 'commander';
import type { Build } from './build.ts';
import { addCommonOptions } from './command.ts';
import { readVersion } from './version.ts';
import type { World } from './world.ts';

// Commands come in groups, and a group is loaded when it is named: a hundred commands took a fifth of the time of
// each one.

interface Group {
  readonly summary: string;
  load(): Promise<readonly Build[]>;
}

const GROUPS: Readonly<Record<string, Group>> = {
  context: {
    summary: 'Turns and the contexts that lead to them.',
    load: async () => (await import('./groups/context-commands.ts')).contextCommands,
  },
  workflow: {
    summary: 'Threads of agents with roles, and what runs them.',
    load: async () => (await import('./groups/workflow-commands.ts')).workflowCommands,
  },
  session: {
    summary: 'What coding agents write, with its artifacts.',
    load: async () => (await import('./groups/session-commands.ts')).sessionCommands,
  },
  chat: {
    summary: 'Chats: events, and the messages they tell.',
    load: async () => (await import('./groups/chat-commands.ts')).chatCommands,
  },
  blob: {
    summary: 'Immutable bytes by their hash.',
    load: async () => (await import('./groups/blob-commands.ts')).blobCommands,
  },
  queue: {
    summary: 'Events, and the handlers they wake.',
    load: async () => (await import('./groups/queue-commands.ts')).queueCommands,
  },
  token: {
    summary: 'Who may use a server.',
    load: async () => (await import('./groups/token-commands.ts')).tokenCommands,
  },
};

const START = `
Examples:
  $ ctx=$(quipu context create --title "fix the parser")
  $ quipu context append $ctx --type chat.message --json-payload '{"role":"user","text":"hi"}'
  $ quipu context last $ctx

Exit codes: 0 done, 1 the store said no, 2 the command line or the input is wrong.`;

/**
 * The tree of commands. Options before a command's name are the program's, after it the command's. When the first
 * word of the command line is the name of a group, or of a command without one, there is nothing else in it.
 */
export async function createProgram(world: World, firstWord?: string): Promise<Command> {
  const program = addCommonOptions(new Command('quipu'))
    .description('Durable memory for AI agents.')
    .version(readVersion())
    .enablePositionalOptions()
    .addHelpText('after', START);
  if (firstWord !== undefined && Object.hasOwn(GROUPS, firstWord)) {
    program.addCommand(await loadGroup(firstWord, world));
    return program;
  }
  const { firstCommands, upkeepCommands } = await import('./groups/store-commands.ts');
  const first = firstCommands.map((build) => build(world));
  const upkeep = upkeepCommands.map((build) => build(world));
  const isOfStore = [...first, ...upkeep].some((command) => command.name() === firstWord);
  const groups = isOfStore ? [] : Object.keys(GROUPS);
  for (const command of first) program.addCommand(command);
  for (const name of groups) program.addCommand(await loadGroup(name, world));
  for (const command of upkeep) program.addCommand(command);
  return program;
}

async function loadGroup(name: string, world: World): Promise<Command> {
  const group = GROUPS[name];
  const parent = new Command(name)
    .description(group?.summary ?? '')
    .enablePositionalOptions()
    .addHelpText('after', `\nEvery command has examples: quipu ${name} <command> --help`);
  for (const build of (await group?.load()) ?? []) parent.addCommand(build(world));
  return parent;
}
