import type { Command } from 'commander';
import { invalid } from '../../base/errors.ts';
import { defineCommand, withIo } from '../command.ts';
import { readGivenText } from '../run-workflow.ts';
import type { World } from '../world.ts';

interface Options {
  readonly summary?: string;
  readonly summaryFile?: string;
  readonly command?: string;
}

export function workflowCompact(world: World): Command {
  return defineCommand(
    'compact',
    'Let a summary stand for every step so far, and print the hash of the step that does.',
    [
      'quipu workflow compact 01JTHREAD1AAAAAAAAAAAAAAAA --summary "planned and half done"',
      'quipu workflow compact 01JTHREAD1AAAAAAAAAAAAAAAA --command "my-model --summarise"',
    ],
  )
    .argument('<thread>', 'thread id')
    .option('--summary <text>', 'the summary')
    .option('--summary-file <file>', 'the summary in a file, or - for standard input')
    .option('--command <command>', 'a shell command that reads the context and prints the summary')
    .action(
      withIo(world, async (io, id: string, options: Options) => {
        const { summary: text, summaryFile: file, command } = options;
        if (command !== undefined && (text ?? file) !== undefined) {
          throw invalid('--command', 'stands alone, without --summary and --summary-file');
        }
        const given = { ...(text !== undefined && { text }), ...(file !== undefined && { file }) };
        const summarise =
          command === undefined
            ? await readGivenText(world, given, '--summary, --summary-file and --command')
            : { command, signal: world.catchInterrupt() };
        await using store = await io.openStore();
        const step = await store.workflows.compact(id, summarise);
        await (io.json ? io.printJson(step) : world.out(`${step.hash}\n`));
      }),
    );
}
