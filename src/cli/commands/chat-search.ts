import type { Command } from 'commander';
import { showMessage } from '../chat-text.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseCount } from '../parse-argument.ts';
import type { World } from '../world.ts';

interface Options {
  readonly limit: number;
  readonly branch?: string;
  readonly before?: number;
}

export function chatSearch(world: World): Command {
  return defineCommand('search', 'Find messages by their text, newest first.', [
    'quipu chat search $chat "parser"',
  ])
    .argument('<chat>', 'id of the chat')
    .argument('<text>', 'what to look for, in any case')
    .option('-n, --limit <n>', 'how many at most', parseCount, 20)
    .option('--before <seq>', 'messages before this one', parseCount)
    .option('--branch <id>', 'only in this branch (default: all)')
    .action(
      withIo(world, async (io, id: string, text: string, options: Options) => {
        await using store = await io.openStore();
        const page = await (await store.chats.open(id)).search(text, options);
        for (const message of page.messages) {
          await (io.json ? io.printJson(message) : world.out(showMessage(message)));
        }
        const { before } = page;
        if (before === undefined) return;
        world.err(io.json ? `${JSON.stringify({ before })}\n` : `more: --before ${before}\n`);
      }),
    );
}
