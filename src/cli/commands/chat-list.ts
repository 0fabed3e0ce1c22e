import type { Command } from 'commander';
import type { ChatInfo } from '../../chat/chats.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseCount } from '../parse-argument.ts';
import { toPlainLine } from '../plain-text.ts';
import { toSize } from '../quantity.ts';
import { toTable } from '../table.ts';
import type { World } from '../world.ts';

const TITLE_CHARS = 48;

interface Options {
  readonly limit: number;
  readonly cursor?: string;
}

export function chatList(world: World): Command {
  return defineCommand('list', 'List chats.', ['quipu chat list', 'quipu chat list -n 5 --json'])
    .option('-n, --limit <n>', 'how many at most', parseCount, 50)
    .option('--cursor <text>', 'go on where the page before ended')
    .action(
      withIo(world, async (io, { limit, cursor: from }: Options) => {
        await using store = await io.openStore();
        const page = await store.chats.list({ limit, ...(from !== undefined && { cursor: from }) });
        if (io.json) for (const chat of page.items) await io.printJson(chat);
        else if (page.items.length > 0) await world.out(toChatTable(page.items));
        const { cursor } = page;
        if (cursor === undefined) return;
        world.err(io.json ? `${JSON.stringify({ cursor })}\n` : `more: --cursor ${cursor}\n`);
      }),
    );
}

export function toChatTable(chats: readonly ChatInfo[]): string {
  const rows = chats.map(({ id, events, bytes, updatedAt, pinned, archivedAt, title }) => [
    id,
    String(events),
    toSize(bytes),
    updatedAt,
    [...(pinned ? ['pinned'] : []), ...(archivedAt === undefined ? [] : ['archived'])].join(','),
    toPlainLine(title, TITLE_CHARS),
  ]);
  return toTable(['CHAT', 'EVENTS', 'SIZE', 'UPDATED', 'STATE', 'TITLE'], rows, ['EVENTS', 'SIZE']);
}
