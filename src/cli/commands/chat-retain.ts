import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { parseDuration, parseSize } from '../parse-amount.ts';
import type { World } from '../world.ts';
import { toChatTable } from './chat-list.ts';

interface Options {
  readonly maxAge?: number;
  readonly maxSize?: number;
  readonly remove?: boolean;
  readonly dryRun?: boolean;
}

export function chatRetain(world: World): Command {
  return defineCommand('retain', 'Archive chats by age and size, or remove them.', [
    'quipu chat retain --max-age 90d --max-size 2GB --dry-run',
    'quipu chat retain --max-age 365d --remove',
  ])
    .option('--max-age <time>', 'chats not written to for this long', parseDuration)
    .option('--max-size <size>', 'the oldest, until the logs of the rest fit', parseSize)
    .option('--remove', 'remove them instead, archived ones as well')
    .option('--dry-run', 'only say which')
    .addHelpText('after', '\nPinned chats stay.')
    .action(
      withIo(world, async (io, { maxAge, maxSize, remove, dryRun = false }: Options) => {
        await using store = await io.openStore();
        const report = await store.chats.retain(
          {
            ...(maxAge !== undefined && { maxAgeMs: maxAge }),
            ...(maxSize !== undefined && { maxBytes: maxSize }),
            action: remove === true ? 'remove' : 'archive',
          },
          { dryRun },
        );
        if (io.json) {
          await io.printJson(report);
          return;
        }
        const { chats, kept, pinned, damaged, action } = report;
        if (chats.length > 0) await world.out(toChatTable(chats));
        const done = action === 'archive' ? 'archived' : 'removed';
        const verb = dryRun ? `would be ${done}` : done;
        await world.out(`${chats.length} ${verb}, ${kept} stay, ${pinned} of them pinned\n`);
        for (const id of damaged) world.err(`damaged, and stays: quipu chat problems ${id}\n`);
      }),
    );
}
