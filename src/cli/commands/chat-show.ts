import type { Command } from 'commander';
import { showMessage } from '../chat-text.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseCount } from '../parse-argument.ts';
import { escapeControls } from '../plain-text.ts';
import type { World } from '../world.ts';

interface Options {
  readonly limit: number;
  readonly before?: number;
  readonly branch?: string;
}

export function chatShow(world: World): Command {
  return defineCommand('show', 'Show the last messages of a chat, and what it waits for.', [
    'quipu chat show $chat',
    'quipu chat show $chat -n 5 --branch try2',
    'quipu chat show $chat --json | jq .messages',
  ])
    .argument('<chat>', 'id of the chat')
    .option('-n, --limit <n>', 'how many messages at most', parseCount, 20)
    .option('--before <seq>', 'messages before this one', parseCount)
    .option('--branch <id>', 'a branch, or "*" for all (default: main)')
    .action(
      withIo(world, async (io, id: string, { limit, before, branch }: Options) => {
        await using store = await io.openStore();
        const chat = await store.chats.open(id);
        const page = await chat.messages({
          limit,
          ...(before !== undefined && { before }),
          ...(branch !== undefined && { branch }),
        });
        const status = await chat.status();
        if (io.json) {
          await io.printJson({ ...status, ...page });
          return;
        }
        for (const message of page.messages) await world.out(showMessage(message));
        const { open } = status.clarification;
        if (open !== undefined) {
          const texts = open.questions.map((one) => `  ${one.id}: ${escapeControls(one.text)}\n`);
          await world.out(`waits for answers to ${open.batch_id}\n${texts.join('')}`);
        }
        if (page.before !== undefined) world.err(`more: --before ${page.before}\n`);
        if (status.problems > 0) {
          world.err(`${status.problems} problems: quipu chat problems ${id}\n`);
        }
      }),
    );
}
