import type { Command } from 'commander';
import { QuipuError } from '../../base/errors.ts';
import type { Store } from '../../store/store.ts';
import { defineCommand, withIo } from '../command.ts';
import type { CommandIo } from '../command.ts';
import { parseCount } from '../parse-argument.ts';
import { toTime } from '../quantity.ts';
import { isThread, toStepLine } from '../show-workflow.ts';
import { toFacts } from '../table.ts';
import type { World } from '../world.ts';

interface Options {
  readonly limit: number;
  readonly before?: string;
  readonly context?: boolean;
  readonly info?: boolean;
}

export function workflowShow(world: World): Command {
  return defineCommand(
    'show',
    'Show a thread with its last steps, or what a workflow says of itself.',
    [
      'quipu workflow show 01JTHREAD1AAAAAAAAAAAAAAAA -n 20',
      'quipu workflow show 01JTHREAD1AAAAAAAAAAAAAAAA --context --json',
      'quipu workflow show solve-issue',
    ],
  )
    .argument('<thread-or-workflow>', 'thread id, or the name of a workflow')
    .option('-n, --limit <n>', 'how many steps at most', parseCount, 50)
    .option('--before <hash>', 'the steps before this one')
    .option('--context', 'what a model would be shown: from the last summary on')
    .option('--info', 'its debug lines instead of its steps')
    .action(
      withIo(world, async (io, what: string, options: Options) => {
        await using store = await io.openStore();
        await (isThread(what) ? showThread(io, store, what, options) : showBundle(io, store, what));
      }),
    );
}

async function showThread(
  io: CommandIo,
  store: Store,
  id: string,
  options: Options,
): Promise<void> {
  const { workflows } = store;
  const thread = await workflows.get(id);
  if (thread === undefined) {
    throw new QuipuError('NOT_FOUND', `there is no workflow thread ${id}`, { what: 'thread', id });
  }
  if (options.info === true) {
    for (const line of await workflows.info(id)) await io.printJson(line);
    return;
  }
  const { limit, before } = options;
  const shown =
    options.context === true
      ? await workflows.context(id)
      : await workflows.steps(id, { limit, ...(before !== undefined && { before }) });
  if (io.json) {
    await io.printJson({ ...thread, ...shown });
    return;
  }
  const facts: [string, string][] = [
    ['state', thread.state],
    ['updated', toTime(thread.updatedAt)],
    ['head', thread.head],
    ['start', thread.start],
    ['bundle', thread.bundle],
  ];
  if ('summary' in shown && shown.summary !== undefined) facts.push(['summary', shown.summary]);
  await io.world.out(toFacts(facts));
  for (const step of shown.steps) await io.world.out(toStepLine(step));
  if ('cursor' in shown) io.world.err(`more: --before ${shown.cursor}\n`);
}

async function showBundle(io: CommandIo, store: Store, name: string): Promise<void> {
  const { bundles } = store.workflows;
  const descriptor = await bundles.describe(name);
  const bundle = await bundles.get(name);
  if (io.json) {
    await io.printJson({ ...bundle, descriptor });
    return;
  }
  const roles = Object.entries(descriptor.roles).map(([role, { command, workflow, compact }]) => {
    const way = command ?? (workflow === undefined ? 'a function' : `the workflow ${workflow}`);
    return [`role ${role}`, compact === true ? `${way}, a summary` : way] as const;
  });
  await io.world.out(
    toFacts([
      ['bundle', bundle?.hash ?? ''],
      ['description', descriptor.description ?? ''],
      ['rounds', String(descriptor.maxRounds ?? 10)],
      ...roles,
    ]),
  );
}
