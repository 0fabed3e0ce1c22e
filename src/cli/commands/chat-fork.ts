import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

export function chatFork(world: World): Command {
  return defineCommand('fork', 'Go on after a message in a new branch, and print its id.', [
    'branch=$(quipu chat fork $chat $message)',
    'quipu chat fork $chat $message --branch try2',
  ])
    .argument('<chat>', 'id of the chat')
    .argument('<message>', 'id of the message it goes on from')
    .option('--branch <id>', 'what to call it (default: a new id)')
    .action(
      withIo(world, async (io, id: string, message: string, options: { branch?: string }) => {
        await using store = await io.openStore();
        const branch = await (await store.chats.open(id)).fork(message, options);
        await (io.json ? io.printJson({ branch }) : world.out(`${branch}\n`));
      }),
    );
}
