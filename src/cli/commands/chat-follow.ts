import type { Command } from 'commander';
import type { ChatEvent } from '../../chat/event.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseCount } from '../parse-argument.ts';
import { toPlainLine } from '../plain-text.ts';
import type { World } from '../world.ts';

const PAYLOAD_CHARS = 200;

interface Options {
  readonly after?: number;
  readonly count?: number;
}

export function chatFollow(world: World): Command {
  return defineCommand('follow', 'Print the events of a chat, then every new one until Ctrl-C.', [
    'quipu chat follow $chat',
    'quipu chat follow $chat --after 120 --json',
  ])
    .argument('<chat>', 'id of the chat')
    .option('--after <seq>', 'begin after this event', parseCount)
    .option('-n, --count <n>', 'end after so many events', parseCount)
    .action(
      withIo(world, async (io, id: string, { after = 0, count = Infinity }: Options) => {
        if (count === 0) return;
        await using store = await io.openStore();
        const chat = await store.chats.open(id);
        let printed = 0;
        for await (const event of chat.follow({ after, signal: world.catchInterrupt() })) {
          await (io.json ? io.printJson(event) : world.out(toLine(event)));
          printed += 1;
          if (printed >= count) return;
        }
      }),
    );
}

function toLine({ seq, at, type, payload }: ChatEvent): string {
  return `${seq}  ${at}  ${type}  ${toPlainLine(JSON.stringify(payload), PAYLOAD_CHARS)}\n`;
}
