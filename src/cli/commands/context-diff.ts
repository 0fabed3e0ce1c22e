import type { Command } from 'commander';
import type { TurnId } from '../../base/brand.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseTurnId } from '../parse-argument.ts';
import { toFacts } from '../table.ts';
import type { World } from '../world.ts';

export function contextDiff(world: World): Command {
  return defineCommand('diff', 'Show where two turns part, and the turns on each side.', [
    'quipu context diff 12 17',
    'quipu context diff 12 17 --json',
  ])
    .argument('<a>', 'turn id', parseTurnId)
    .argument('<b>', 'turn id', parseTurnId)
    .action(
      withIo(world, async (io, a: TurnId, b: TurnId) => {
        await using store = await io.openStore();
        const diff = await store.contexts.diff(a, b);
        const left = diff.left.map(String);
        const right = diff.right.map(String);
        const base = diff.base === undefined ? undefined : String(diff.base);
        if (io.json) return await io.printJson({ base, left, right });
        return await world.out(
          toFacts([
            ['base', base ?? 'none'],
            ['left', left.join(' ')],
            ['right', right.join(' ')],
          ]),
        );
      }),
    );
}
