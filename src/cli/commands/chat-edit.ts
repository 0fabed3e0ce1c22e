import type { Command } from 'commander';
import { addTextOptions, readText } from '../chat-text.ts';
import type { TextOptions } from '../chat-text.ts';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

export function chatEdit(world: World): Command {
  return addTextOptions(
    defineCommand('edit', 'Give a message another text; the first one stays in the log.', [
      'quipu chat edit $chat $message --text "hello"',
    ])
      .argument('<chat>', 'id of the chat')
      .argument('<message>', 'id of the message'),
  ).action(
    withIo(world, async (io, id: string, message: string, options: TextOptions) => {
      const content = await readText(io, options);
      await using store = await io.openStore();
      const event = await (await store.chats.open(id)).edit(message, content);
      await (io.json ? io.printJson(event) : world.out(`${event.seq}\n`));
    }),
  );
}
