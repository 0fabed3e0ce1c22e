import { Command, CommanderError } from 'commander';

// Suggestions for a word that is no command. The parser knows the near misses among the commands at one place.
// This also knows the words of other programs, and the commands at other places.

/** Words that people know from elsewhere, with the verbs that do the same here. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  add: ['create'],
  branch: ['fork'],
  cat: ['show', 'get'],
  checkout: ['move'],
  clone: ['copy', 'fork'],
  del: ['rm'],
  delete: ['rm'],
  dump: ['export'],
  find: ['search'],
  get: ['show'],
  grep: ['search'],
  history: ['log'],
  info: ['show', 'stats'],
  inspect: ['show'],
  load: ['import'],
  log: ['show'],
  ls: ['list'],
  make: ['create'],
  new: ['create'],
  open: ['show', 'create'],
  print: ['show'],
  remove: ['rm'],
  save: ['export', 'backup'],
  status: ['stats', 'doctor'],
  tail: ['follow'],
  tree: ['log'],
  view: ['show'],
  watch: ['follow'],
  write: ['append'],
};

const SHOWN_MAX = 4;

/** An unknown word, and the words before it that are known. */
export interface Unknown {
  readonly word: string;
  readonly before: readonly string[];
}

/**
 * The command lines that may have been meant, best first. `paths` has all commands as their words, such as
 * `['context', 'append']`. Empty: the word is like nothing here.
 */
export function suggest(
  { word, before }: Unknown,
  paths: readonly (readonly string[])[],
): readonly string[] {
  const meant = Object.hasOwn(SYNONYMS, word) ? (SYNONYMS[word] ?? []) : [];
  // A verb of the library, such as `moveHead`, often has the verb of the command in it.
  const parts = word.split(/[-_]|(?=[A-Z])/).map((part) => part.toLowerCase());
  const verbs = (place: readonly string[]): string[] =>
    paths
      .filter((path) => path.slice(0, -1).join(' ') === place.join(' '))
      .map((path) => path.join(' '));
  const here = verbs(before);
  const alone = verbs([]);
  const named = (lines: readonly string[], wanted: readonly string[]): string[] =>
    wanted.flatMap((verb) => lines.filter((line) => line.split(' ').at(-1) === verb));
  const everywhere = paths.map((path) => path.join(' '));
  const choices = [
    () => [...named(alone, [word]), ...named(here, meant)],
    () => [...named(everywhere, [word]), ...named(alone, meant)],
    () => nearest(word, here),
    () => named(here, parts),
    () => named(everywhere, meant),
    () => nearest(word, everywhere),
  ];
  for (const choose of choices) {
    const found = [...new Set(choose())];
    if (found.length > 0) return found.slice(0, SHOWN_MAX);
  }
  return [];
}

/** The lines whose verb is most like the word, as the parser measures it. */
function nearest(word: string, lines: readonly string[]): string[] {
  const probe = new Command().exitOverride().configureOutput({ outputError: () => undefined });
  const verbs = new Set(lines.map((line) => line.split(' ').at(-1) ?? ''));
  for (const verb of verbs) probe.command(verb);
  try {
    probe.parse([word], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const [, listed = ''] = /\(Did you mean (?:one of )?(.*)\?\)$/.exec(error.message) ?? [];
    const like = new Set(listed.split(', '));
    return lines.filter((line) => like.has(line.split(' ').at(-1) ?? ''));
  }
  return [];
}
