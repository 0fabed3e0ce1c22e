import type { Command } from 'commander';
import type { NewChat } from '../../chat/chats.ts';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

export function chatNew(world: World): Command {
  return defineCommand('new', 'Begin a chat and print its id.', [
    'chat=$(quipu chat new --title "fix the parser")',
    'quipu chat new --id support_42 --pinned',
  ])
    .option('--id <id>', 'letters, digits and "_" (default: a new one)')
    .option('--title <text>', 'what it is about')
    .option('--pinned', 'no policy takes it away')
    .action(
      withIo(world, async (io, options: NewChat) => {
        await using store = await io.createStore();
        const chat = await store.chats.create(options);
        await (io.json ? io.printJson(chat) : world.out(`${chat.id}\n`));
      }),
    );
}
