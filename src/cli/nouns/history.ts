import { quipuVerb, type QuipuVerb } from '../kit/command.ts';
import { OUT_OPTIONS, openOutput } from '../kit/files.ts';
import { parseContext, parseCount, parseSince } from '../kit/parse.ts';
import { argument, oneOf, option, preset } from '../kit/verb.ts';
import { contextArgument, findContextId } from './turn-parts.ts';

// The work is loaded when a verb runs: these verbs stand alone, and so are loaded with all others that do.

/** The names of the sources, which a test compares with the sources themselves. */
export const AGENTS: readonly string[] = [
  'claude-code',
  'codex',
  'pi',
  'omp',
  'opencode',
  'gemini',
  'copilot',
  'chatgpt',
  'claude-ai',
  'jsonl',
  'quipu',
];
/** The formats of an export, and the groups that tokens are summed by. */
const FORMATS = ['markdown', 'html', 'jsonl', 'claude-code', 'codex', 'pi'] as const;
const SUMS = ['day', 'model', 'project', 'agent'] as const;

export const historyVerbs: readonly QuipuVerb[] = [
  quipuVerb({
    name: 'log',
    summary: 'Show turns, newest first, and with --graph the branches that they are on.',
    more: [
      'Without a context, it shows the one that was used last. With --graph, it draws all branches of the tree that the',
      'context leads into. It looks at the 2,000 contexts that were used last, and says so when there are more.',
      'Colours are for terminals, unless NO_COLOR is set. Lines are drawn in ASCII where the locale is not UTF-8.',
    ].join('\n'),
    examples: ['quipu log', 'quipu log 1 --graph', 'quipu log --all --graph --oneline -n 20'],
    takes: [
      argument('[context]', 'context id, or its name (default: the one used last)', parseContext),
      option('--graph', 'draw the branches'),
      option('--oneline', 'one line for each turn'),
      preset('-n, --limit <n>', 'how many turns at most', parseCount, 50),
      option('--all', 'the turns of all contexts'),
    ],
    async run(io, context, given) {
      await (await import('./run-log.ts')).runLog(io, context, given);
    },
  }),
  quipuVerb({
    name: 'import',
    summary: 'Import the histories of coding agents. To add what is new, run it again.',
    more: [
      'Without --from, it looks for the sessions of every agent that it knows, and asks on a terminal before it imports.',
      'It only reads the files of the agents. Pictures and long outputs become blobs, branches become forks, and copies',
      'of a session share its turns. Records that are not messages are kept beside the turns.',
    ].join('\n'),
    examples: [
      'quipu import --yes',
      'quipu import --from claude-code',
      'quipu import --from codex ./old-codex --since 90d --dry-run',
    ],
    takes: [
      argument('[path]', 'the home of the agent, or one file (default: where the agent keeps it)'),
      oneOf('--from <agent>', 'import from this agent alone', AGENTS),
      option('--since <time>', 'only files changed since, such as 30d or 2026-01-31', parseSince),
      option('--project <folder>', 'only sessions about this folder, or one below it'),
      option('--follow', 'keep the store current until Ctrl-C'),
      option('--dry-run', 'count, and write nothing'),
      option('--yes', 'do not ask'),
    ],
    async run(io, path, given) {
      await (await import('./run-import.ts')).runImport(io, path, given);
    },
  }),
  quipuVerb({
    name: 'export',
    summary: 'Write the history of a context as a page to read, or as a session file of an agent.',
    more: [
      'In the format of the agent that the history came from, each record is as it was. For another agent, the command',
      'translates messages, calls and results, so that the session can continue there. An HTML page is one file, with its',
      'pictures inside and without scripts.',
    ].join('\n'),
    examples: [
      'quipu export 1 > session.md',
      'quipu export 1 --as html --out session.html',
      'quipu export 1 --as codex --out session.jsonl',
    ],
    takes: [
      contextArgument(),
      oneOf(
        '--as <format>',
        'format of the output (default: markdown; with --json: jsonl)',
        FORMATS,
      ),
      ...OUT_OPTIONS,
    ],
    async run(io, context, { as = io.json ? 'jsonl' : 'markdown', ...out }) {
      const { exportHistory } = await import('../../import/out/export-history.ts');
      const { SOURCES } = await import('../../import/sources/all-sources.ts');
      const store = await io.openStore();
      const id = await findContextId(store, context);
      await using output = await openOutput(io.shell, out);
      for await (const piece of exportHistory(store, id, as, SOURCES)) await output.write(piece);
      await output.complete();
    },
  }),
  quipuVerb({
    name: 'usage',
    summary: 'Sum the tokens that imported histories state.',
    more: [
      'The import keeps the sums, so this command counts nothing again. To show costs, give a file with the prices of a million',
      'tokens: {"<model>": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}}.',
    ].join('\n'),
    examples: ['quipu usage', 'quipu usage --by model --since 30d --json'],
    takes: [
      oneOf('--by <what>', 'what to sum by (default: day)', SUMS),
      option('--since <time>', 'only from this day on, such as 30d or 2026-01-31', parseSince),
      option('--prices <file>', 'a JSON file with the prices of models'),
    ],
    async run(io, given) {
      await (await import('./run-import.ts')).runUsage(io, given);
    },
  }),
];
