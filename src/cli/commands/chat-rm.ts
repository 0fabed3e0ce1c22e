import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

export function chatRm(world: World): Command {
  return defineCommand('rm', 'Remove a chat; "quipu gc" then frees its blobs.', [
    'quipu chat rm $chat',
  ])
    .argument('<chat>', 'id of the chat')
    .action(
      withIo(world, async (io, id: string) => {
        await using store = await io.openStore();
        await store.chats.remove(id);
      }),
    );
}
