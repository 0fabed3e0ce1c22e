import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { parseCount } from '../parse-argument.ts';
import type { World } from '../world.ts';

interface Options {
  readonly code?: number;
  readonly summary?: string;
}

export function workflowEnd(world: World): Command {
  return defineCommand('end', 'End a thread, and print the hash of its last node.', [
    'quipu workflow end 01JTHREAD1AAAAAAAAAAAAAAAA --summary "merged"',
    'quipu workflow end 01JTHREAD1AAAAAAAAAAAAAAAA --code 1 --summary "tests fail"',
  ])
    .argument('<thread>', 'thread id')
    .option('--code <n>', 'the return code (default: 0)', parseCount)
    .option('--summary <text>', 'how it went')
    .action(
      withIo(world, async (io, id: string, { code, summary }: Options) => {
        await using store = await io.openStore();
        const step = await store.workflows.end(id, {
          ...(code !== undefined && { returnCode: code }),
          ...(summary !== undefined && { summary }),
        });
        await (io.json ? io.printJson(step) : world.out(`${step.hash}\n`));
      }),
    );
}
