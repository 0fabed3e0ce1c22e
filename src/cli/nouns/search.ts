import { given } from '../../base/given.ts';
import { invalid } from '../../base/errors.ts';
import type {
  FacetCount,
  Neighbour,
  SearchAnswer,
  SearchHit,
} from '../../search/contract/search.ts';
import { nameOfPlace } from '../../postgres/address.ts';
import { quoteForShell } from '../../queue/notifier.ts';
import { type CommandIo, type QuipuVerb, quipuVerb, withProgress } from '../kit/command.ts';
import { parseCount, parseDuration } from '../kit/parse.ts';
import { escapeControls, toPlainLine, toTime } from '../kit/text.ts';
import { argument, option } from '../kit/verb.ts';

/** The first search of a store builds its index, which takes a minute for a gigabyte of text. */
const INDEX_WAIT_MS = 600_000;

export const searchVerbs: readonly QuipuVerb[] = [
  quipuVerb({
    name: 'search',
    summary: 'Find any text: in turns, messages, steps, entries, outputs and events.',
    more: [
      'All words must be there. Write "a phrase", pre* for a beginning, -not, a OR b, and groups in brackets.',
      'Fields: kind: type: role: tool: model: context: label: before: after: (a date, or an age such as 7d).',
      'A query that begins with a hyphen follows "--": quipu search -- -draft report',
    ].join('\n'),
    examples: [
      'quipu search parser',
      'quipu search \'"connection refused" role:tool after:7d\' --newest',
      'quipu search getUserName --around 3',
      "quipu search 'kind:context n' --group --facets --json",
    ],
    takes: [
      argument('<query...>', 'what to look for'),
      option('--newest', 'the newest first (default: the best first)'),
      option('-n, --limit <n>', 'how many hits, or threads with --group (default: 20)', parseCount),
      option('--cursor <cursor>', 'continue where the previous page ended'),
      option('--group', 'by thread, with the best hits of each'),
      option('--facets', 'count the matches by kind, type, model and day'),
      option('--around <n>', 'also print this many neighbours on each side', parseCount),
      option(
        '--index-wait <time>',
        'how long to wait for the index to be up to date (default: 10m)',
        parseDuration,
      ),
    ],
    async run(io, words, options) {
      const { shell } = io;
      const { newest, limit, cursor: from, group, facets, around } = options;
      const { indexWait = INDEX_WAIT_MS } = options;
      const query = words.join(' ');
      if (query.trim() === '') throw invalid('query', 'is empty; write a word to look for');
      const store = await io.openStore();
      const answer = await withProgress(shell, (progress) =>
        store.search(query, {
          order: newest === true ? 'newest' : 'best',
          waitMs: indexWait,
          progress,
          ...given({ limit, cursor: from, group, facets, around }),
        }),
      );
      if (io.json) await io.printJson(answer);
      else await shell.out(showAnswer(answer, commandsOn(io)));
      const { cursor, index, matches } = answer;
      if (matches === 0 && !io.json) shell.err('nothing was found\n');
      if (cursor !== undefined) io.noteMore({ cursor });
      if (!index.upToDate) {
        shell.err(`the index is behind: ${index.done ?? 0} of ${index.total ?? 0} records read\n`);
      }
    },
  }),
];

function showAnswer(
  { hits, groups, facets, matches, ranked }: SearchAnswer,
  commandOf: (hit: SearchHit) => string,
): string {
  const showOne = (hit: SearchHit): string => showHit(hit, commandOf(hit));
  const shown =
    groups?.map(({ kind, thread, matches: count, hits: best }) =>
      [
        `${kind} ${escapeControls(thread)}: ${count} ${count === 1 ? 'match' : 'matches'}\n`,
        ...best.map(showOne),
      ].join(''),
    ) ?? hits.map(showOne);
  const bound = {
    all: '',
    newest: `more than ${matches} matches: the newest ${matches} were ranked\n`,
    time: `the time was up: ${matches} matches were ranked\n`,
  }[ranked];
  const counts = facets === undefined ? '' : Object.entries(facets).map(showFacet).join('');
  return shown.join('\n') + (counts === '' ? '' : `\n${counts}`) + bound;
}

function showFacet([name, counts]: [string, readonly FacetCount[]]): string {
  if (counts.length === 0) return '';
  return `${name}: ${counts.map(({ value, count }) => `${toPlainLine(value, 60)} ${count}`).join(', ')}\n`;
}

function showHit(hit: SearchHit, command: string): string {
  const { kind, thread, id, at, role, branches, snippet, around } = hit;
  const others = branches.filter((branch) => branch !== thread);
  const facts = [
    `${kind} ${thread}`,
    toPlainLine(id, 70),
    role,
    toTime(at),
    others.length > 0 ? `also in ${others.join(' ')}${hit.moreBranches ? ' …' : ''}` : undefined,
  ].filter((fact) => fact !== undefined);
  const lines = [
    escapeControls(facts.join('  ')),
    `  ${markWords(snippet)}`,
    ...(around ?? []).map((neighbour) => showNeighbour(neighbour, id)),
    `  ${escapeControls(command)}`,
  ];
  return `${lines.join('\n')}\n`;
}

function showNeighbour({ id, role, type, text }: Neighbour, hit: string): string {
  return `  ${id === hit ? '>' : ' '} ${toPlainLine(id, 40)} ${toPlainLine(role ?? type, 40)}: ${toPlainLine(text, 200)}`;
}

/** Words stand in » and «: text from the store must not move the cursor of a terminal. */
function markWords({ text, marks }: SearchHit['snippet']): string {
  let shown = '';
  let at = 0;
  for (const [from, to] of marks) {
    shown += `${escapeControls(text.slice(at, from))}»${escapeControls(text.slice(from, to))}«`;
    at = to;
  }
  return shown + escapeControls(text.slice(at));
}

/** Makes the commands that show hits of this store. People paste them, so a shell must not read names as commands. */
function commandsOn({ named }: CommandIo): (hit: SearchHit) => string {
  const store = named === undefined ? [] : ['--store', nameOfPlace(named)];
  return (hit) => ['quipu', ...wordsToShow(hit), ...store].map(quoteForShell).join(' ');
}

function wordsToShow({ kind, thread, id, branches }: SearchHit): readonly string[] {
  switch (kind) {
    case 'context':
      return ['context', 'turn', id];
    case 'chat':
      return ['chat', 'show', thread];
    case 'workflow':
      return ['workflow', 'show', branches[0] ?? thread];
    case 'session':
      return ['session', 'cat', thread, '--branch', id];
    case 'artifact':
      return ['session', 'artifact', thread, id];
    case 'queue':
      return ['queue', 'peek', thread, '--after', String(Number(id) - 1), '-n', '1'];
  }
}
