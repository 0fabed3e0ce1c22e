import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { toSessionArgument } from '../session-argument.ts';
import type { World } from '../world.ts';

export function sessionRm(world: World): Command {
  return defineCommand(
    'rm',
    'Remove a session and its artifacts; "quipu gc" then frees its blobs.',
    ['quipu session rm $id'],
  )
    .argument('<session>', 'id or path of its file')
    .action(
      withIo(world, async (io, session: string) => {
        await using store = await io.openStore();
        await store.sessions.remove(toSessionArgument(world, session));
        if (io.json) await io.printJson({ session, removed: true });
      }),
    );
}
