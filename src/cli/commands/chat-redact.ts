import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

interface Options {
  readonly reason: string;
  readonly erase?: boolean;
  readonly everywhere?: boolean;
  readonly batch?: boolean;
}

export function chatRedact(world: World): Command {
  return defineCommand('redact', 'Hide a message for good, and with --erase remove its text.', [
    'quipu chat redact $chat $message --reason "a password"',
    'quipu chat redact $chat $message --reason "a password" --erase',
    'quipu chat redact $chat $batch --batch --reason "an address"',
  ])
    .argument('<chat>', 'id of the chat')
    .argument('<message>', 'id of the message, or with --batch of a batch of questions')
    .requiredOption('--reason <text>', 'why; it stays readable')
    .option('--batch', 'hide the questions and answers of a batch')
    .option('--erase', 'remove the text from every file of the store')
    .option('--everywhere', 'with --erase: attachments go also when others use the same bytes')
    .action(
      withIo(world, async (io, id: string, what: string, { batch, ...options }: Options) => {
        await using store = await io.openStore();
        const chat = await store.chats.open(id);
        const report = await (batch === true
          ? chat.redactBatch(what, options)
          : chat.redact(what, options));
        if (io.json) {
          await io.printJson(report);
          return;
        }
        const { erasedLines, erasedBlobs, unreadableLines, kept } = report;
        await world.out(
          options.erase === true
            ? `erased ${erasedLines} lines, ${erasedBlobs} blobs\n`
            : 'hidden\n',
        );
        if (unreadableLines > 0)
          world.err(`${unreadableLines} damaged lines were not looked into\n`);
        for (const hash of kept) world.err(`kept, because others use it: attachment ${hash}\n`);
      }),
    );
}
