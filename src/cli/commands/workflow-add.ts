import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { readInput, readWhole } from '../input.ts';
import type { World } from '../world.ts';

const BUNDLE_BYTES_MAX: number = 4 * 1024 * 1024;

export function workflowAdd(world: World): Command {
  return defineCommand(
    'add',
    'Register a bundle, an ES module, under a name, and print its hash.',
    [
      'quipu workflow add solve-issue.mjs',
      'quipu workflow add solve-issue.mjs --name solve --json',
    ],
  )
    .argument('<file>', 'the module, or - for standard input')
    .option('--name <name>', 'another name than its descriptor has')
    .action(
      withIo(world, async (io, file: string, { name }: { readonly name?: string }) => {
        const source = await readWhole(readInput(world, file), BUNDLE_BYTES_MAX);
        await using store = await io.createStore();
        const options = name === undefined ? {} : { name };
        const bundle = await store.workflows.bundles.add(source, options);
        await (io.json ? io.printJson(bundle) : world.out(`${bundle.hash}\n`));
      }),
    );
}
