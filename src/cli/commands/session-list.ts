import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { parseCount } from '../parse-argument.ts';
import { toSize } from '../quantity.ts';
import { toTable } from '../table.ts';
import type { World } from '../world.ts';

interface Options {
  readonly limit: number;
  readonly cursor?: string;
}

export function sessionList(world: World): Command {
  return defineCommand('list', 'List the sessions that the store knows, the oldest first.', [
    'quipu session list',
    'quipu session list -n 5 --json',
  ])
    .option('-n, --limit <n>', 'how many at most', parseCount, 50)
    .option('--cursor <text>', 'go on where the page before ended')
    .action(
      withIo(world, async (io, { limit, cursor }: Options) => {
        await using store = await io.openStore();
        const page = await store.sessions.list({ limit, ...(cursor !== undefined && { cursor }) });
        if (io.json) for (const session of page.items) await io.printJson(session);
        else if (page.items.length > 0) {
          const rows = page.items.map(({ id, updatedAt, sizeBytes, header, file }) => [
            id,
            updatedAt ?? 'not here',
            sizeBytes === undefined ? '' : toSize(sizeBytes),
            header?.cwd ?? file,
          ]);
          await world.out(toTable(['SESSION', 'UPDATED', 'SIZE', 'CWD'], rows, ['SIZE']));
        }
        if (page.cursor === undefined) return;
        const more = page.cursor;
        world.err(io.json ? `${JSON.stringify({ cursor: more })}\n` : `more: --cursor ${more}\n`);
      }),
    );
}
