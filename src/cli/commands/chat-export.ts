import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { openOutput } from '../output.ts';
import type { World } from '../world.ts';

type Format = 'markdown' | 'json';

interface Options {
  readonly format: Format;
  readonly branch?: string;
  readonly out?: string;
}

export function chatExport(world: World): Command {
  return defineCommand('export', 'Print a chat as readable Markdown, or all of it as JSON.', [
    'quipu chat export $chat > chat.md',
    'quipu chat export $chat --format json --out chat.json',
  ])
    .argument('<chat>', 'id of the chat')
    .option('--format <name>', 'markdown or json', parseFormat, 'markdown')
    .option('--branch <id>', 'of Markdown: a branch, or "*" for all (default: main)')
    .option('--out <file>', 'write to this file; it appears when it is complete')
    .action(
      withIo(world, async (io, id: string, { format, branch, out }: Options) => {
        await using store = await io.openStore();
        const chat = await store.chats.open(id);
        await using output = await openOutput(world, out);
        const named = branch === undefined ? {} : { branch };
        const wanted = io.json ? 'json' : format;
        for await (const piece of chat.export({ format: wanted, ...named })) {
          await output.write(piece);
        }
        await output.complete();
      }),
    );
}

function parseFormat(text: string): Format {
  if (text === 'markdown' || text === 'json') return text;
  throw new InvalidArgumentError('Expected markdown or json.');
}
