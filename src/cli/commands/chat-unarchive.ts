import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

export function chatUnarchive(world: World): Command {
  return defineCommand('unarchive', 'Make an archived chat writable again.', [
    'quipu chat unarchive $chat',
  ])
    .argument('<chat>', 'id of the chat')
    .action(
      withIo(world, async (io, id: string) => {
        await using store = await io.openStore();
        const chat = await (await store.chats.open(id)).unarchive();
        await (io.json ? io.printJson(chat) : world.out(`${chat.id}\n`));
      }),
    );
}
