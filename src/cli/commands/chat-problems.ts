import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { toTable } from '../table.ts';
import type { World } from '../world.ts';

export function chatProblems(world: World): Command {
  return defineCommand('problems', 'List what is wrong in a chat, and where.', [
    'quipu chat problems $chat',
  ])
    .argument('<chat>', 'id of the chat')
    .action(
      withIo(world, async (io, id: string) => {
        await using store = await io.openStore();
        const problems = await (await store.chats.open(id)).problems();
        if (io.json) for (const problem of problems) await io.printJson(problem);
        else if (problems.length > 0) {
          const rows = problems.map(({ seq, kind, message }) => [String(seq), kind, message]);
          await world.out(toTable(['EVENT', 'KIND', 'WHAT'], rows, ['EVENT']));
        }
      }),
    );
}
