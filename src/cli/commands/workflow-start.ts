import type { Command } from 'commander';
import { toHash } from '../../base/brand.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseCount } from '../parse-argument.ts';
import { readGivenText } from '../run-workflow.ts';
import type { World } from '../world.ts';

interface Options {
  readonly prompt?: string;
  readonly promptFile?: string;
  readonly bundle?: string;
  readonly maxRounds?: number;
}

export function workflowStart(world: World): Command {
  return defineCommand(
    'start',
    'Start a thread whose steps you record yourself, and print its id.',
    [
      'id=$(quipu workflow start review --bundle <hash> --prompt "read this")',
      'quipu workflow start solve-issue --prompt-file issue.md',
    ],
  )
    .argument('<workflow>', 'its name')
    .option('--prompt <text>', 'the task')
    .option('--prompt-file <file>', 'the task in a file, or - for standard input')
    .option('--bundle <hash>', 'which bundle (default: the one registered under the name)')
    .option('--max-rounds <n>', 'how many steps at most, for whoever runs it', parseCount)
    .action(
      withIo(world, async (io, name: string, options: Options) => {
        const { prompt: text, promptFile: file, bundle, maxRounds } = options;
        const given = { ...(text !== undefined && { text }), ...(file !== undefined && { file }) };
        const prompt = await readGivenText(world, given, '--prompt and --prompt-file');
        await using store = await io.createStore();
        const thread = await store.workflows.start({
          name,
          prompt,
          ...(bundle !== undefined && { bundle: toHash(bundle, 'bundle') }),
          ...(maxRounds !== undefined && { maxRounds }),
        });
        await (io.json ? io.printJson(thread) : world.out(`${thread.id}\n`));
      }),
    );
}
