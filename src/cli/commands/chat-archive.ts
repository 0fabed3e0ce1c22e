import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

export function chatArchive(world: World): Command {
  return defineCommand('archive', 'Compress a chat; from then on it can only be read.', [
    'quipu chat archive $chat',
  ])
    .argument('<chat>', 'id of the chat')
    .action(
      withIo(world, async (io, id: string) => {
        await using store = await io.openStore();
        const chat = await (await store.chats.open(id)).archive();
        await (io.json ? io.printJson(chat) : world.out(`${chat.id}\n`));
      }),
    );
}
