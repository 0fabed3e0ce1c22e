import type { Command } from 'commander';
import type { ContextId } from '../../base/brand.ts';
import { NO_TURN } from '../../base/brand.ts';
import type { Context } from '../../context/context.ts';
import { ContextFlag } from '../../format/context-flags.ts';
import { defineCommand, withIo } from '../command.ts';
import { mustGetContext } from '../must-get.ts';
import { parseContextId } from '../parse-argument.ts';
import { toTime } from '../quantity.ts';
import { toFacts } from '../table.ts';
import type { World } from '../world.ts';

export function contextShow(world: World): Command {
  return defineCommand('show', 'Show what is known about a context.', [
    'quipu context show 1',
    'quipu context show 1 --json',
  ])
    .argument('<context>', 'context id', parseContextId)
    .action(
      withIo(world, async (io, id: ContextId) => {
        await using store = await io.openStore();
        const context = await mustGetContext(store, id);
        await (io.json ? io.printJson(context) : world.out(toContextFacts(context)));
      }),
    );
}

function toFlags(flags: number): string {
  const names = [
    ...((flags & ContextFlag.OPEN) === 0 ? [] : ['open']),
    ...((flags & ContextFlag.FORKED) === 0 ? [] : ['forked']),
  ];
  return `${flags} (${names.join(', ')})`;
}

function toContextFacts(context: Context): string {
  const { title, kind, labels, meta } = context;
  return toFacts([
    ['context', String(context.id)],
    ...(title === undefined ? [] : [['title', title] as const]),
    ...(kind === undefined ? [] : [['kind', kind] as const]),
    ...(labels.length === 0 ? [] : [['labels', labels.join(', ')] as const]),
    ['head', context.head === NO_TURN ? 'none' : `${context.head} at depth ${context.headDepth}`],
    ...(context.base === NO_TURN ? [] : [['forked from', String(context.base)] as const]),
    ...(context.openTurn === NO_TURN ? [] : [['open turn', String(context.openTurn)] as const]),
    ...(context.flags === 0 ? [] : [['flags', toFlags(context.flags)] as const]),
    ['created', toTime(context.createdAt)],
    ['updated', toTime(context.updatedAt)],
    ...(meta === undefined ? [] : [['meta', JSON.stringify(meta)] as const]),
  ]);
}
