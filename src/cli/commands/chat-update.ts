import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

interface Options {
  readonly title?: string;
  readonly pinned?: boolean;
}

export function chatUpdate(world: World): Command {
  return defineCommand('update', 'Change the title of a chat, or pin it.', [
    'quipu chat update $chat --title "fix the lexer"',
    'quipu chat update $chat --pinned',
    'quipu chat update $chat --no-pinned',
  ])
    .argument('<chat>', 'id of the chat')
    .option('--title <text>', 'what it is about')
    .option('--pinned', 'no policy takes it away')
    .option('--no-pinned', 'policies count again')
    .action(
      withIo(world, async (io, id: string, options: Options) => {
        await using store = await io.openStore();
        const chat = await (await store.chats.open(id)).update(options);
        await (io.json ? io.printJson(chat) : world.out(`${chat.id}\n`));
      }),
    );
}
