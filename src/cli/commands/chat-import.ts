import type { Command } from 'commander';
import { decodeUtf8 } from '../../base/utf8.ts';
import { defineCommand, withIo } from '../command.ts';
import { readInput, readWhole } from '../input.ts';
import type { World } from '../world.ts';

const IMPORT_BYTES_MAX = 512 * 1024 * 1024;

export function chatImport(world: World): Command {
  return defineCommand('import', 'Make a chat from one that was exported as JSON; print its id.', [
    'quipu chat import chat.json',
    'quipu chat export $chat --format json | quipu chat import - --id copy',
  ])
    .argument('<file>', 'the file, or "-" for standard input')
    .option('--id <id>', 'another id than the one it had')
    .action(
      withIo(world, async (io, file: string, options: { id?: string }) => {
        const bytes = await readWhole(readInput(world, file), IMPORT_BYTES_MAX);
        await using store = await io.createStore();
        const chat = await store.chats.import(decodeUtf8(bytes), options);
        await (io.json ? io.printJson(chat) : world.out(`${chat.id}\n`));
      }),
    );
}
