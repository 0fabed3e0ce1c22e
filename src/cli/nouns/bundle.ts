import { quipuVerb } from '../kit/command.ts';
import type { QuipuVerb } from '../kit/command.ts';
import { readInput, readWhole } from '../kit/input.ts';
import { parseCount } from '../kit/parse.ts';
import { findBundle } from './short-hash.ts';
import { SESSION_OPTION, readGivenText, reportRun, watchRun } from './workflow-output.ts';
import { argument, option } from '../kit/verb.ts';

const BUNDLE_BYTES_MAX: number = 4 * 1024 * 1024;

const add = quipuVerb({
  name: 'add',
  summary: 'Register a bundle, an ES module, under a name, and print its hash.',
  examples: [
    'quipu workflow add solve-issue.mjs',
    'quipu workflow add solve-issue.mjs --name solve --json',
  ],
  takes: [
    argument('<file>', 'the module, or - for standard input'),
    option('--name <name>', 'name to use instead of the one in its descriptor'),
  ],
  async run(io, file, { name }) {
    const { shell } = io;
    const source = await readWhole(readInput(shell, file), BUNDLE_BYTES_MAX);
    await using store = await io.createStore();
    const named = name === undefined ? {} : { name };
    const from = file === '-' ? {} : { file };
    const bundle = await store.workflows.bundles.add(source, { ...named, ...from });
    await io.print(bundle, () => `${bundle.hash}\n`);
  },
});

const rollback = quipuVerb({
  name: 'rollback',
  summary: 'Make an earlier bundle of a workflow current again, and print its hash.',
  examples: [
    'quipu workflow rollback solve-issue',
    'quipu workflow rollback solve-issue --to $hash',
  ],
  takes: [
    argument('<workflow>', 'the name'),
    option('--to <hash>', 'which bundle (default: the one before)'),
  ],
  async run(io, name, { to }) {
    await using store = await io.openStore();
    const target = to === undefined ? undefined : await findBundle(store, name, to);
    const bundle = await store.workflows.bundles.rollback(name, target);
    await io.print(bundle, () => `${bundle.hash}\n`);
  },
});

const history = quipuVerb({
  name: 'history',
  summary: 'List the bundles that a name has had, oldest first.',
  examples: ['quipu workflow history solve-issue'],
  takes: [argument('<workflow>', 'the name')],
  async run(io, name) {
    await using store = await io.openStore();
    const versions = await store.workflows.bundles.history(name);
    await io.printRows(versions, (_, screen) => {
      const rows = versions.map(({ hash, since }) => [screen.time(since), hash]);
      return screen.table(['SINCE', 'BUNDLE'], rows);
    });
  },
});

const run = quipuVerb({
  name: 'run',
  summary: 'Run a workflow here to its end, and print the id of its thread.',
  examples: [
    'quipu workflow run solve-issue --prompt "the parser drops the last line"',
    'id=$(quipu workflow run solve-issue --prompt-file issue.md)',
  ],
  takes: [
    argument('<workflow>', 'the name it was added under'),
    option('--prompt <text>', 'the task'),
    option('--prompt-file <file>', 'the task in a file, or - for standard input'),
    option('--max-rounds <n>', 'how many steps at most', parseCount),
    SESSION_OPTION,
  ],
  async run(io, name, options) {
    const { shell } = io;
    const { prompt: text, promptFile: file, maxRounds } = options;
    const prompt = await readGivenText(shell, { text, file }, '--prompt and --prompt-file');
    await using store = await io.openStore();
    const result = await store.workflows.run(name, {
      ...watchRun(shell, io.json, options),
      prompt,
      ...(maxRounds !== undefined && { maxRounds }),
      onStart: (id) => io.json || shell.err(`thread ${id}\n`),
    });
    await reportRun(io, result);
  },
});

const resume = quipuVerb({
  name: 'resume',
  summary:
    'Continue a thread after its last step, if it was paused or stopped, or if its process died.',
  examples: ['quipu workflow resume $id'],
  takes: [argument('<thread>', 'thread id'), SESSION_OPTION],
  async run(io, id, options) {
    const { shell } = io;
    await using store = await io.openStore();
    const watching = watchRun(shell, io.json, options);
    await reportRun(io, await store.workflows.resume(id, watching));
  },
});

const pause = quipuVerb({
  name: 'pause',
  summary: 'Stop a thread after its present step.',
  examples: ['quipu workflow pause $id'],
  takes: [argument('<thread>', 'thread id')],
  async run(io, id) {
    await using store = await io.openStore();
    const thread = await store.workflows.pause(id);
    if (io.json) await io.printJson(thread);
  },
});

const kill = quipuVerb({
  name: 'kill',
  summary: 'End a thread at once, with return code 130.',
  examples: ['quipu workflow kill $id --reason "wrong branch"'],
  takes: [
    argument('<thread>', 'thread id'),
    option('--reason <text>', 'reason to record with the end'),
  ],
  async run(io, id, { reason }) {
    await using store = await io.openStore();
    const step = await store.workflows.kill(id, reason);
    if (io.json) await io.printJson(step);
  },
});

export const bundleVerbs: readonly QuipuVerb[] = [add, history, rollback, run, resume, pause, kill];
