import type { JsonObject } from '../../workflow/home/workflows-home.ts';
import type { RegisteredBundle } from '../../workflow/bundles/bundles.ts';
import { given } from '../../base/given.ts';
import { toHash } from '../../base/brand.ts';
import { invalid, notFound } from '../../base/errors.ts';
import type { Store } from '../../store/store.ts';
import { quipuVerb, toHash as showHash, toId } from '../kit/command.ts';
import type { CommandIo, QuipuVerb } from '../kit/command.ts';
import { collect, parseCount, parseJson, parseTime } from '../kit/parse.ts';
import { tableOf, toFacts, toPlainLine, toTime, type Fact, type ShowRows } from '../kit/text.ts';
import { findBlob, findBundle, findStep } from './short-hash.ts';
import { isThread, readGivenText, showThreads, toStepLine } from './bundle.ts';
import { argument, option, preset, required, type OptionsIn } from '../kit/verb.ts';

const PROMPT_CHARS = 1000;

const showBundles: ShowRows<RegisteredBundle> = tableOf([
  ['WORKFLOW', ({ name }) => name],
  ['BUNDLE', ({ hash }) => hash.slice(0, 12)],
  ['SINCE', ({ versions }, screen) => screen.time(versions.at(-1)?.since ?? 0)],
  ['DESCRIPTION', ({ description = '' }) => description],
]);

const SHOWING = [
  argument('<thread-or-workflow>', 'thread id, or the name of a workflow'),
  preset('-n, --limit <n>', 'how many steps at most', parseCount, 50),
  option('--before <hash>', 'the steps before this one'),
  option('--context', 'the steps that a model would see: from the last summary on'),
  option('--info', 'its debug lines instead of its steps'),
] as const;
type ShowGiven = OptionsIn<typeof SHOWING>;

export const workflowVerbs: readonly QuipuVerb[] = [
  quipuVerb({
    name: 'list',
    summary: 'List running threads, finished ones, or workflows.',
    examples: [
      'quipu workflow list',
      'quipu workflow list --all --json',
      'quipu workflow list --completed --since 2026-11-01 --until 7d',
      'quipu workflow list --bundles',
    ],
    takes: [
      option('--all', 'finished threads too'),
      option('--completed', 'finished threads only'),
      option('--bundles', 'the workflows that are registered, instead of threads'),
      option('--since <when>', 'only those ended or changed since then: a date, or 7d', parseTime),
      option('--until <when>', 'only those ended or changed before', parseTime),
      preset('-n, --limit <n>', 'how many threads at most', parseCount, 50),
      option('--cursor <text>', 'continue where the previous page ended'),
    ],
    async run(io, options) {
      const { workflows } = await io.openStore();
      if (options.bundles === true) {
        return io.printRows(await workflows.bundles.list(), showBundles);
      }
      const { all = false, completed = false, limit, cursor: from, since, until } = options;
      const { items, cursor } = await workflows.list({
        state: all ? 'all' : completed ? 'completed' : 'active',
        limit,
        details: true,
        ...given({ since, until, cursor: from }),
      });
      await io.printRows(items, showThreads);
      if (cursor !== undefined) io.noteMore({ cursor });
    },
  }),
  quipuVerb({
    name: 'show',
    summary: 'Show a thread with its last steps, or what a workflow says of itself.',
    examples: [
      'quipu workflow show $id -n 20',
      'quipu workflow show $id --context --json',
      'quipu workflow show solve-issue',
    ],
    takes: SHOWING,
    async run(io, what, options) {
      const store = await io.openStore();
      await (isThread(what) ? showThread(io, store, what, options) : showBundle(io, store, what));
    },
  }),
  quipuVerb({
    name: 'rm',
    summary: 'Remove a thread, or remove a workflow from the registry.',
    examples: ['quipu workflow rm $id', 'quipu workflow rm solve-issue'],
    takes: [argument('<thread-or-workflow>', 'thread id, or the name of a workflow')],
    async give(io, what) {
      const { workflows } = await io.openStore();
      await (isThread(what) ? workflows.remove(what) : workflows.bundles.remove(what));
      return { removed: what };
    },
  }),
  quipuVerb({
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
    async give(io, id, { at }) {
      const store = await io.openStore();
      const place = at === undefined ? {} : { at: toPlace(await findStep(store, id, at)) };
      return store.workflows.fork(id, place);
    },
    show: toId,
  }),
  quipuVerb({
    name: 'compact',
    summary:
      'Replace the steps so far by a summary for later roles, and print the hash of its step.',
    examples: [
      'quipu workflow compact $id --summary "planned and half done"',
      'quipu workflow compact $id --command "my-model --summarise"',
    ],
    takes: [
      argument('<thread>', 'thread id'),
      option('--summary <text>', 'the summary'),
      option('--summary-file <file>', 'the summary in a file, or - for standard input'),
      option(
        '--command <command>',
        'a shell command that reads the context and prints the summary',
      ),
    ],
    async give(io, id, options) {
      const { shell } = io;
      const { summary: text, summaryFile: file, command } = options;
      if (command !== undefined && (text ?? file) !== undefined) {
        throw invalid('--command', 'cannot be combined with --summary or --summary-file');
      }
      const summarise =
        command === undefined
          ? await readGivenText(shell, { text, file }, '--summary, --summary-file and --command')
          : { command, signal: shell.catchInterrupt() };
      return (await io.openStore()).workflows.compact(id, summarise);
    },
    show: showHash,
  }),
  quipuVerb({
    name: 'follow',
    aliases: ['live'],
    summary: 'Print the steps of a thread as they come, until it ends.',
    examples: ['quipu workflow follow $id', 'quipu workflow follow $id --after $step --json'],
    takes: [argument('<thread>', 'thread id'), option('--after <hash>', 'begin after this step')],
    async *each(io, id, { after }) {
      const store = await io.openStore();
      const signal = io.shell.catchInterrupt();
      const from = after === undefined ? {} : { after: await findStep(store, id, after) };
      yield* store.workflows.live(id, { signal, ...from });
    },
    line: toStepLine,
  }),
  quipuVerb({
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
    async give(io, name, options) {
      const { prompt: text, promptFile: file, bundle, maxRounds } = options;
      const prompt = await readGivenText(io.shell, { text, file }, '--prompt and --prompt-file');
      const store = await io.createStore();
      const found =
        bundle === undefined ? bundle : toHash(await findBundle(store, name, bundle), 'bundle');
      return store.workflows.start({ name, prompt, ...given({ bundle: found, maxRounds }) });
    },
    show: toId,
  }),
  quipuVerb({
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
    async give(io, id, options) {
      const { role, content: text, contentFile: file, ref, expectHead } = options;
      const content = await readGivenText(io.shell, { text, file }, '--content and --content-file');
      const store = await io.openStore();
      const refs = ref && (await Promise.all(ref.map((blob) => findBlob(store, blob))));
      const head = expectHead ?? options.expectedHead;
      const expectedHead =
        head === undefined ? head : toHash(await findStep(store, id, head), 'head');
      const meta = options.meta as JsonObject | undefined;
      return store.workflows.step(id, { role, content, ...given({ meta, refs, expectedHead }) });
    },
    show: showHash,
  }),
  quipuVerb({
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
    give: async (io, id, { code: returnCode, summary }) =>
      (await io.openStore()).workflows.end(id, given({ returnCode, summary })),
    show: showHash,
  }),
];

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
  const facts: Fact[] = [
    ['workflow', thread.name ?? 'unknown'],
    ['prompt', toPlainLine(thread.prompt ?? '', PROMPT_CHARS)],
    ['state', thread.outcome ?? thread.state],
    ['return code', thread.returnCode],
    ['updated', toTime(thread.updatedAt)],
    ['head', thread.head],
    ['start', thread.start],
    ['bundle', thread.bundle],
    ['summary', 'summary' in shown ? shown.summary : undefined],
  ];
  await io.shell.out(toFacts(facts));
  for (const step of shown.steps) await io.shell.out(toStepLine(step));
  if ('cursor' in shown) io.shell.err(`more: --before ${shown.cursor}\n`);
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
      ['rounds', descriptor.maxRounds ?? 10],
      ...roles,
    ]),
  );
}

function toPlace(at: string): string | number {
  return /^-?\d{1,15}$/.test(at) ? Number(at) : at;
}
