import type { Command } from 'commander';
import { toHash } from '../../base/brand.ts';
import type { JsonObject } from '../../workflow/nodes.ts';
import { defineCommand, withIo } from '../command.ts';
import { collect, parseJson } from '../parse-argument.ts';
import { readGivenText } from '../run-workflow.ts';
import type { World } from '../world.ts';

interface Options {
  readonly role: string;
  readonly content?: string;
  readonly contentFile?: string;
  readonly meta?: JsonObject;
  readonly ref?: readonly string[];
  readonly expectedHead?: string;
}

export function workflowStep(world: World): Command {
  return defineCommand('step', 'Record a step of a thread, and print its hash.', [
    'quipu workflow step 01JTHREAD1AAAAAAAAAAAAAAAA --role coder --content "done"',
    'quipu workflow step 01JTHREAD1AAAAAAAAAAAAAAAA --role coder --content-file - --ref <hash>',
  ])
    .argument('<thread>', 'thread id')
    .requiredOption('--role <role>', 'who did it')
    .option('--content <text>', 'what was said')
    .option('--content-file <file>', 'what was said, in a file, or - for standard input')
    .option('--meta <json>', 'structured facts', parseJson)
    .option('--ref <hash>', 'an artifact; may be given many times', collect)
    .option('--expected-head <hash>', 'only if the thread still stands there')
    .action(
      withIo(world, async (io, id: string, options: Options) => {
        const { role, content: text, contentFile: file, meta, ref, expectedHead } = options;
        const given = { ...(text !== undefined && { text }), ...(file !== undefined && { file }) };
        const content = await readGivenText(world, given, '--content and --content-file');
        await using store = await io.openStore();
        const step = await store.workflows.step(id, {
          role,
          content,
          ...(meta !== undefined && { meta }),
          ...(ref !== undefined && { refs: ref }),
          ...(expectedHead !== undefined && { expectedHead: toHash(expectedHead, 'head') }),
        });
        await (io.json ? io.printJson(step) : world.out(`${step.hash}\n`));
      }),
    );
}
