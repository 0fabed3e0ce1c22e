import type { Command } from 'commander';
import type { TurnId } from '../../base/brand.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseTurnId } from '../parse-argument.ts';
import type { World } from '../world.ts';

export function contextPin(world: World): Command {
  return defineCommand('pin', 'Keep a turn and all before it, whatever becomes of its contexts.', [
    'quipu context pin 12 --reason "quoted in the report"',
  ])
    .argument('<turn>', 'turn id', parseTurnId)
    .option('--reason <text>', 'why')
    .action(
      withIo(world, async (io, id: TurnId, { reason }: { readonly reason?: string }) => {
        await using store = await io.openStore();
        await store.contexts.pin(id, { ...(reason !== undefined && { reason }) });
        if (io.json) await io.printJson({ turn: String(id), pinned: true });
      }),
    );
}
