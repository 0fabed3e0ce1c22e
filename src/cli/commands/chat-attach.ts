import { basename } from 'node:path';
import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { readInput } from '../input.ts';
import type { World } from '../world.ts';

interface Options {
  readonly name?: string;
  readonly mediaType?: string;
  readonly message?: string;
}

export function chatAttach(world: World): Command {
  return defineCommand('attach', 'Attach a file to a chat and print the hash of its bytes.', [
    'quipu chat attach $chat shot.png --media-type image/png --message $message',
    'make 2>&1 | quipu chat attach $chat - --name build.log',
  ])
    .argument('<chat>', 'id of the chat')
    .argument('<file>', 'the file, or "-" for standard input')
    .option('--name <text>', 'what to call it (default: the name of the file)')
    .option('--media-type <type>', 'what it is (default: application/octet-stream)')
    .option('--message <id>', 'the message it belongs to')
    .action(
      withIo(world, async (io, id: string, file: string, options: Options) => {
        const { name = file === '-' ? 'standard input' : basename(file) } = options;
        await using store = await io.openStore();
        const chat = await store.chats.open(id);
        const attachment = await chat.attach(readInput(world, file), { ...options, name });
        await (io.json ? io.printJson(attachment) : world.out(`${attachment.hash}\n`));
      }),
    );
}
