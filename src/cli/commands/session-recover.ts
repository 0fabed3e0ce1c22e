import { resolve } from 'node:path';
import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

export function sessionRecover(world: World): Command {
  return defineCommand('recover', 'Give a session file that lost its header a new one.', [
    'quipu session recover ./2026-11-15T10-00-00-000Z_x.jsonl',
  ])
    .argument('<file>', 'called <timestamp>_<id>.jsonl; every byte of it stays')
    .action(
      withIo(world, async (io, file: string) => {
        await using store = await io.openStore();
        const header = await store.sessions.recoverHeader(resolve(world.cwd, file));
        await (io.json ? io.printJson(header) : world.out(`${header.id}\n`));
      }),
    );
}
