import type { Command } from 'commander';
import { defineCommand, withIo } from '../command.ts';
import { parseCount } from '../parse-argument.ts';
import { SESSION_OPTION, readGivenText, reportRun, watchRun } from '../run-workflow.ts';
import type { RunningOptions } from '../run-workflow.ts';
import type { World } from '../world.ts';

interface Options extends RunningOptions {
  readonly prompt?: string;
  readonly promptFile?: string;
  readonly maxRounds?: number;
}

export function workflowRun(world: World): Command {
  return defineCommand('run', 'Run a workflow here to its end, and print the id of its thread.', [
    'quipu workflow run solve-issue --prompt "the parser drops the last line"',
    'id=$(quipu workflow run solve-issue --prompt-file issue.md)',
  ])
    .argument('<workflow>', 'the name it was added under')
    .option('--prompt <text>', 'the task')
    .option('--prompt-file <file>', 'the task in a file, or - for standard input')
    .option('--max-rounds <n>', 'how many steps at most', parseCount)
    .option(...SESSION_OPTION)
    .action(
      withIo(world, async (io, name: string, options: Options) => {
        const { prompt: text, promptFile: file, maxRounds } = options;
        const prompt = await readGivenText(
          world,
          { ...(text !== undefined && { text }), ...(file !== undefined && { file }) },
          '--prompt and --prompt-file',
        );
        await using store = await io.openStore();
        const result = await store.workflows.run(name, {
          ...watchRun(world, io.json, options),
          prompt,
          ...(maxRounds !== undefined && { maxRounds }),
          onStart: (id) => io.json || world.err(`thread ${id}\n`),
        });
        await reportRun(io, result);
      }),
    );
}
