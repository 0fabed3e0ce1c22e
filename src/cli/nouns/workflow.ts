import type { JsonObject } from '../../workflow/home/check-input.ts';
import { given } from '../../base/given.ts';
import { toHash } from '../../base/brand.ts';
import { invalid, notFound } from '../../base/errors.ts';
import type { Store } from '../../store/store.ts';
import { quipuVerb } from '../kit/command.ts';
import type { CommandIo, QuipuVerb } from '../kit/command.ts';
import { collect, parseCount, parseJson, parseTime } from '../kit/parse.ts';
import { toFacts, toPlainLine, toTime } from '../kit/text.ts';
import { findBlob, findBundle, findStep } from './short-hash.ts';
import { isThread, readGivenText, toStepLine, toThreadTable } from './workflow-output.ts';
import { argument, option, preset, required } from '../kit/verb.ts';
import type { OptionsIn } from '../kit/verb.ts';

const PROMPT_CHARS = 1000;

const LISTING = [
  option('--all', 'finished threads too'),
  option('--completed', 'finished threads only'),
  option('--bundles', 'the workflows that are registered, instead of threads'),
  option('--since <when>', 'only those ended or changed since then: a date, or 7d', parseTime),
  option('--until <when>', 'only those ended or changed before', parseTime),
  preset('-n, --limit <n>', 'how many threads at most', parseCount, 50),
  option('--cursor <text>', 'continue where the previous page ended'),
] as const;
type ListGiven = OptionsIn<typeof LISTING>;

const list = quipuVerb({
  name: 'list',
  summary: 'List running threads, finished ones, or workflows.',
  examples: [
    'quipu workflow list',
    'quipu workflow list --all --json',
    'quipu workflow list --completed --since 2026-11-01 --until 7d',
    'quipu workflow list --bundles',
  ],
  takes: LISTING,
  async run(io, options) {
    await using store = await io.openStore();
    await (options.bundles === true ? listBundles(io, store) : listThreads(io, store, options));
  },
});

async function listThreads(io: CommandIo, store: Store, options: ListGiven): Promise<void> {
  const { all = false, completed = false, limit, cursor: from, since, until } = options;
  const { items, cursor } = await store.workflows.list({
    state: all ? 'all' : completed ? 'completed' : 'active',
    limit,
    details: true,
    ...given({ since, until, cursor: from }),
  });
  await io.printRows(items, toThreadTable);
  if (cursor === undefined) return;
  io.noteMore({ cursor });
}

async function listBundles(io: CommandIo, store: Store): Promise<void> {
  const bundles = await store.workflows.bundles.list();
  await io.printRows(bundles, (_, screen) => {
    const rows = bundles.map(({ name, hash, versions, description = '' }) => [
      name,
      hash.slice(0, 12),
      screen.time(versions.at(-1)?.since ?? 0),
      description,
    ]);
    return screen.table(['WORKFLOW', 'BUNDLE', 'SINCE', 'DESCRIPTION'], rows);
  });
}

const SHOWING = [
  argument('<thread-or-workflow>', 'thread id, or the name of a workflow'),
  preset('-n, --limit <n>', 'how many steps at most', parseCount, 50),
  option('--before <hash>', 'the steps before this one'),
  option('--context', 'the steps that a model would see: from the last summary on'),
  option('--info', 'its debug lines instead of its steps'),
] as const;
type ShowGiven = OptionsIn<typeof SHOWING>;

const show = quipuVerb({
  name: 'show',
  summary: 'Show a thread with its last steps, or what a workflow says of itself.',
  examples: [
    'quipu workflow show $id -n 20',
    'quipu workflow show $id --context --json',
    'quipu workflow show solve-issue',
  ],
  takes: SHOWING,
  async run(io, what, options) {
    await using store = await io.openStore();
    await (isThread(what) ? showThread(io, store, what, options) : showBundle(io, store, what));
  },
});

async function showThread(
  io: CommandIo,
  store: Store,
  id: string,
  options: ShowGiven,
): Promise<void> {
  const { workflows } = store;
  const thread = await workflows.get(id, { details: true });
  if (thread === undefined) {
    throw notFound('thread', id, `there is no workflow thread ${id}`);
  }
  if (options.info === true) {
    for (const line of await workflows.info(id)) await io.printJson(line);
    return;
  }
  const { limit, before } = options;
  const shown =
    options.context === true
      ? await workflows.context(id)
      : await workflows.steps(id, {
          limit,
          ...(before !== undefined && { before: await findStep(store, id, before) }),
        });
  if (io.json) {
    await io.printJson({ ...thread, ...shown });
    return;
  }
  const facts: [string, string][] = [
    ['workflow', thread.name ?? 'unknown'],
    ['prompt', toPlainLine(thread.prompt ?? '', PROMPT_CHARS)],
    ['state', thread.outcome ?? thread.state],
    ...(thread.returnCode === undefined ? [] : [toFact('return code', thread.returnCode)]),
    ['updated', toTime(thread.updatedAt)],
    ['head', thread.head],
    ['start', thread.start],
    ['bundle', thread.bundle],
  ];
  if ('summary' in shown && shown.summary !== undefined) facts.push(['summary', shown.summary]);
  await io.shell.out(toFacts(facts));
  for (const step of shown.steps) await io.shell.out(toStepLine(step));
  if ('cursor' in shown) io.shell.err(`more: --before ${shown.cursor}\n`);
}

function toFact(name: string, value: number): [string, string] {
  return [name, String(value)];
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
  await io.shell.out(
    toFacts([
      ['bundle', bundle?.hash ?? ''],
      ['description', descriptor.description ?? ''],
      ['rounds', String(descriptor.maxRounds ?? 10)],
      ...roles,
    ]),
  );
}

const rm = quipuVerb({
  name: 'rm',
  summary: 'Remove a thread, or remove a workflow from the registry.',
  examples: ['quipu workflow rm $id', 'quipu workflow rm solve-issue'],
  takes: [argument('<thread-or-workflow>', 'thread id, or the name of a workflow')],
  async run(io, what) {
    await using store = await io.openStore();
    const { workflows } = store;
    await (isThread(what) ? workflows.remove(what) : workflows.bundles.remove(what));
    if (io.json) await io.printJson({ removed: what });
  },
});

const fork = quipuVerb({
  name: 'fork',
  summary: 'Create a thread that continues from a step, and print its id.',
  examples: [
    'quipu workflow fork $id',
    'quipu workflow fork $id --at coder',
    'quipu workflow fork $id --at -2',
  ],
  takes: [
    argument('<thread>', 'thread id, running or finished'),
    option(
      '--at <step>',
      'a hash, a role (its newest step), or a number from 0, from the end when negative',
    ),
  ],
  async run(io, id, { at }) {
    await using store = await io.openStore();
    const place = at === undefined ? undefined : toPlace(await findStep(store, id, at));
    const thread = await store.workflows.fork(id, place === undefined ? {} : { at: place });
    await io.print(thread, () => `${thread.id}\n`);
  },
});

function toPlace(at: string): string | number {
  return /^-?\d{1,15}$/.test(at) ? Number(at) : at;
}

const compact = quipuVerb({
  name: 'compact',
  summary: 'Replace the steps so far by a summary for later roles, and print the hash of its step.',
  examples: [
    'quipu workflow compact $id --summary "planned and half done"',
    'quipu workflow compact $id --command "my-model --summarise"',
  ],
  takes: [
    argument('<thread>', 'thread id'),
    option('--summary <text>', 'the summary'),
    option('--summary-file <file>', 'the summary in a file, or - for standard input'),
    option('--command <command>', 'a shell command that reads the context and prints the summary'),
  ],
  async run(io, id, options) {
    const { shell } = io;
    const { summary: text, summaryFile: file, command } = options;
    if (command !== undefined && (text ?? file) !== undefined) {
      throw invalid('--command', 'cannot be combined with --summary or --summary-file');
    }
    const summarise =
      command === undefined
        ? await readGivenText(shell, { text, file }, '--summary, --summary-file and --command')
        : { command, signal: shell.catchInterrupt() };
    await using store = await io.openStore();
    const step = await store.workflows.compact(id, summarise);
    await io.print(step, () => `${step.hash}\n`);
  },
});

const follow = quipuVerb({
  name: 'follow',
  aliases: ['live'],
  summary: 'Print the steps of a thread as they come, until it ends.',
  examples: ['quipu workflow follow $id', 'quipu workflow follow $id --after $step --json'],
  takes: [argument('<thread>', 'thread id'), option('--after <hash>', 'begin after this step')],
  async run(io, id, { after }) {
    const { shell } = io;
    await using store = await io.openStore();
    const signal = shell.catchInterrupt();
    const from = after === undefined ? {} : { after: await findStep(store, id, after) };
    const options = { signal, ...from };
    for await (const step of store.workflows.live(id, options)) {
      await io.print(step, toStepLine);
    }
  },
});

const create = quipuVerb({
  name: 'create',
  aliases: ['start'],
  summary: 'Create a thread whose steps you record yourself, and print its id.',
  examples: [
    'id=$(quipu workflow create review --bundle $hash --prompt "read this")',
    'quipu workflow create solve-issue --prompt-file issue.md',
  ],
  takes: [
    argument('<workflow>', 'its name'),
    option('--prompt <text>', 'the task'),
    option('--prompt-file <file>', 'the task in a file, or - for standard input'),
    option('--bundle <hash>', 'which bundle (default: the one registered under the name)'),
    option('--max-rounds <n>', 'how many steps a run may take', parseCount),
  ],
  async run(io, name, options) {
    const { shell } = io;
    const { prompt: text, promptFile: file, bundle, maxRounds } = options;
    const prompt = await readGivenText(shell, { text, file }, '--prompt and --prompt-file');
    await using store = await io.createStore();
    const thread = await store.workflows.start({
      name,
      prompt,
      ...(bundle !== undefined && {
        bundle: toHash(await findBundle(store, name, bundle), 'bundle'),
      }),
      ...(maxRounds !== undefined && { maxRounds }),
    });
    await io.print(thread, () => `${thread.id}\n`);
  },
});

const step = quipuVerb({
  name: 'step',
  summary: 'Record a step of a thread, and print its hash.',
  examples: [
    'quipu workflow step $id --role coder --content "done"',
    'quipu workflow step $id --role coder --content-file - --ref $hash',
  ],
  takes: [
    argument('<thread>', 'thread id'),
    required('--role <role>', 'role that did the step'),
    option('--content <text>', 'text of the step'),
    option('--content-file <file>', 'text of the step in a file, or - for standard input'),
    option('--meta <json>', 'structured facts', parseJson),
    option('--ref <hash>', 'an artifact; may be given many times', collect),
    option('--expect-head <hash>', 'only if this is the head of the thread'),
    option('--expected-head <hash>', 'the old name of --expect-head').hideHelp(),
  ],
  async run(io, id, options) {
    const { shell } = io;
    const { role, content: text, contentFile: file, meta, ref } = options;
    const expectedHead = options.expectHead ?? options.expectedHead;
    const content = await readGivenText(shell, { text, file }, '--content and --content-file');
    await using store = await io.openStore();
    const refs = await Promise.all((ref ?? []).map((given) => findBlob(store, given)));
    const step = await store.workflows.step(id, {
      role,
      content,
      ...(meta !== undefined && { meta: meta as JsonObject }),
      ...(ref !== undefined && { refs }),
      ...(expectedHead !== undefined && {
        expectedHead: toHash(await findStep(store, id, expectedHead), 'head'),
      }),
    });
    await io.print(step, () => `${step.hash}\n`);
  },
});

const end = quipuVerb({
  name: 'end',
  summary: 'End a thread, and print the hash of its last node.',
  examples: [
    'quipu workflow end $id --summary "merged"',
    'quipu workflow end $id --code 1 --summary "tests fail"',
  ],
  takes: [
    argument('<thread>', 'thread id'),
    option('--code <n>', 'the return code (default: 0)', parseCount),
    option('--summary <text>', 'how it went'),
  ],
  async run(io, id, { code, summary }) {
    await using store = await io.openStore();
    const step = await store.workflows.end(id, given({ returnCode: code, summary }));
    await io.print(step, () => `${step.hash}\n`);
  },
});

export const workflowVerbs: readonly QuipuVerb[] = [
  list,
  show,
  rm,
  fork,
  compact,
  follow,
  create,
  step,
  end,
];
