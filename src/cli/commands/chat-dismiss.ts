import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

export function chatDismiss(world: World): Command {
  return defineCommand('dismiss', 'Close the open batch of questions without answers.', [
    'quipu chat dismiss $chat $batch --reason "no longer needed"',
  ])
    .argument('<chat>', 'id of the chat')
    .argument('<batch>', 'id of the batch')
    .option('--reason <text>', 'why')
    .action(
      withIo(world, async (io, id: string, batch: string, options: { reason?: string }) => {
        await using store = await io.openStore();
        const event = await (await store.chats.open(id)).dismiss(batch, options.reason);
        await (io.json ? io.printJson(event) : world.out(`${event.seq}\n`));
      }),
    );
}
