import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import type { World } from '../world.ts';

export function workflowFork(world: World): Command {
  return defineCommand('fork', 'Go on from a step as a new thread, and print its id.', [
    'quipu workflow fork 01JTHREAD1AAAAAAAAAAAAAAAA',
    'quipu workflow fork 01JTHREAD1AAAAAAAAAAAAAAAA --at coder',
    'quipu workflow fork 01JTHREAD1AAAAAAAAAAAAAAAA --at -2',
  ])
    .argument('<thread>', 'thread id, under way or finished')
    .option(
      '--at <step>',
      'a hash, a role (its newest step), or a number from 0, from the end when negative',
    )
    .action(
      withIo(world, async (io, id: string, { at }: { readonly at?: string }) => {
        await using store = await io.openStore();
        const thread = await store.workflows.fork(id, at === undefined ? {} : { at: toPlace(at) });
        await (io.json ? io.printJson(thread) : world.out(`${thread.id}\n`));
      }),
    );
}

function toPlace(at: string): string | number {
  return /^-?\d{1,15}$/.test(at) ? Number(at) : at;
}
