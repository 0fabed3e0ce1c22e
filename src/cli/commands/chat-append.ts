import type { Command } from 'commander';
import { addTextOptions, readText } from '../chat-text.ts';
import type { TextOptions } from '../chat-text.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseCount } from '../parse-argument.ts';
import type { World } from '../world.ts';

interface Options extends TextOptions {
  readonly role: string;
  readonly branch?: string;
  readonly id?: string;
  readonly expectedSeq?: number;
}

export function chatAppend(world: World): Command {
  return addTextOptions(
    defineCommand('append', 'Add a message to a chat and print its id.', [
      'quipu chat append $chat --role user --text "hi"',
      'make test 2>&1 | quipu chat append $chat --role tool --stdin',
      'quipu chat append $chat --role user --text "or rather" --branch $branch',
    ])
      .argument('<chat>', 'id of the chat')
      .requiredOption('--role <name>', 'who says it, such as user or assistant'),
  )
    .option('--branch <id>', 'the branch to say it in (default: main)')
    .option('--id <id>', 'id of the message (default: a new one)')
    .option('--expected-seq <n>', 'only if this is the last event', parseCount)
    .action(
      withIo(world, async (io, chatId: string, options: Options) => {
        const { role, branch, id, expectedSeq } = options;
        const content = await readText(io, options);
        await using store = await io.openStore();
        const chat = await store.chats.open(chatId);
        const named = { ...(branch !== undefined && { branch }), ...(id !== undefined && { id }) };
        const message = await chat.add(
          { role, content, ...named },
          expectedSeq === undefined ? {} : { expectedSeq },
        );
        await (io.json ? io.printJson(message) : world.out(`${message.id}\n`));
      }),
    );
}
