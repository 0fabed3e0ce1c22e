import { Argument, Option } from 'commander';
import { argument, listVerbs, type Program, type Verb } from './verb.ts';

// Completion in three shells. Each script is made from the verbs and stands alone: pressing the key starts no process.
// The words so far lead along a path such as `/context/append`. Values of options are no part of it.

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type ShellName = (typeof SHELLS)[number];

/** The words that fit at one path. */
interface Place {
  readonly path: string;
  readonly words: readonly Word[];
}

interface Word {
  readonly text: string;
  readonly about: string;
  /** Set for an option that takes a value: the values, where they are few. */
  readonly values?: readonly string[];
}

/** The verb with which a program prints its completion. */
export function completionVerb<Io>(
  program: Program<Io>,
  print: (io: Io, text: string) => Promise<void>,
): Verb<Io> {
  const { name } = program;
  return {
    name: 'completion',
    summary: 'Print the script for the completion of a shell.',
    takes: [argument('<shell>', 'the shell that is to complete').choices(SHELLS)],
    examples: [
      `eval "$(${name} completion bash)"`,
      `${name} completion fish > ${name}.fish`,
      `${name} completion zsh > _${name}`,
    ],
    async run(io, shell: ShellName) {
      await print(io, SCRIPTS[shell](name, await listPlaces(program)));
    },
  };
}

async function listPlaces<Io>(program: Program<Io>): Promise<Place[]> {
  const { nouns, common } = program;
  const verbs = await listVerbs(program);
  const wordsAt = (noun: string): Word[] =>
    verbs
      .filter(([words]) => (words.includes(' ') ? words.split(' ')[0] : '') === noun)
      .map(([, verb]) => ({ text: verb.name, about: verb.summary }));
  const named = nouns.filter(({ name, hidden }) => name !== '' && hidden !== true);
  return [
    {
      path: '',
      words: [
        ...named.map(({ name, summary }) => ({ text: name, about: summary })),
        ...wordsAt(''),
      ],
    },
    ...named.map(({ name }) => ({ path: `/${name}`, words: wordsAt(name) })),
    ...verbs.map(([words, { takes = [] }]) => ({
      path: `/${words.replace(' ', '/')}`,
      words: [...takes, ...common(), new Option('--help', 'show the help')].flatMap(toWords),
    })),
  ];
}

function toWords(taken: Argument | Option): Word[] {
  const values = taken.argChoices ?? [];
  if (taken instanceof Argument) {
    return values.map((text) => ({ text, about: taken.description }));
  }
  if (taken.hidden) return [];
  const takesValue = taken.required || taken.optional;
  const word = { text: taken.long ?? taken.flags, about: taken.description };
  return [takesValue ? { ...word, values } : word];
}

function optionsWithValues(places: readonly Place[]): string[] {
  const options = places.flatMap(({ words }) => words.filter(({ values }) => values !== undefined));
  return [...new Set(options.map(({ text }) => text))].toSorted();
}

/** The options that take one of a few values, each with its path. */
function choices(places: readonly Place[]): { at: string; text: string; values: string }[] {
  return places.flatMap(({ path, words }) =>
    words
      .filter(({ values = [] }) => values.length > 0)
      .map(({ text, values = [] }) => ({ at: path, text, values: values.join(' ') })),
  );
}

function pathsOf(places: readonly Place[]): string[] {
  return places.map(({ path }) => path).filter((path) => path !== '');
}

/** The loop of bash and zsh that finds the path. `words` is their expression for the words before the last one. */
function toLoop(places: readonly Place[], words: string): string {
  return `  for word in ${words}; do
    case "$before" in
      ${optionsWithValues(places).join('|')}) before=; continue ;;
    esac
    before=$word
    case "$at/$word" in
      ${pathsOf(places).join('|')}) at="$at/$word" ;;
    esac
  done
`;
}

function toBash(name: string, places: readonly Place[]): string {
  const few = choices(places).map(
    ({ at, text, values }) => `    ${at}:${text}) fits='${values}' ;;\n`,
  );
  const all = places.map(
    ({ path, words }) => `    ${path}:*) fits='${words.map(({ text }) => text).join(' ')}' ;;\n`,
  );
  return `# Completion of ${name} in bash. In ~/.bashrc: eval "$(${name} completion bash)"
_${name}() {
  local at= before= word fits=
  local last=\${COMP_WORDS[COMP_CWORD]}
${toLoop(places, '"${COMP_WORDS[@]:1:COMP_CWORD-1}"')}  case "$at:$before" in
${few.join('')}    ${optionsWithValues(places)
    .map((option) => `*:${option}`)
    .join('|')}) ;;
${all.join('')}  esac
  COMPREPLY=($(compgen -W "$fits" -- "$last"))
}
complete -o default -F _${name} ${name}
`;
}

function toZsh(name: string, places: readonly Place[]): string {
  const few = choices(places).map(
    ({ at, text, values }) => `    ${at}:${text}) compadd -- ${values}; return ;;\n`,
  );
  const all = places.map(({ path, words }) => {
    const fits = words.map(({ text, about }) =>
      quote(`${text}:${about.replaceAll(/[\\:]/g, String.raw`\$&`)}`),
    );
    return `    ${path}:*) fits=(${fits.join(' ')}) ;;\n`;
  });
  return `#compdef ${name}
# Completion of ${name} in zsh. In ~/.zshrc, after compinit: eval "$(${name} completion zsh)"
_${name}() {
  local at= before= word
  local -a fits
${toLoop(places, '"${(@)words[2,CURRENT-1]}"')}  case "$at:$before" in
${few.join('')}    ${optionsWithValues(places)
    .map((option) => `*:${option}`)
    .join('|')}) _files; return ;;
${all.join('')}  esac
  _describe ${name} fits || _files
}
compdef _${name} ${name}
`;
}

function toFish(name: string, places: readonly Place[]): string {
  const lines = places.flatMap(({ path, words }) =>
    words.map(({ text, about, values }) => {
      const when = `complete -c ${name} -n '__${name}_at "${path}"' -d ${quote(about)}`;
      if (!text.startsWith('--')) return `${when} -f -a ${text}\n`;
      const few = values === undefined || values.length === 0 ? '' : ` -f -a '${values.join(' ')}'`;
      return `${when} -l ${text.slice(2)}${values === undefined ? '' : ` -r${few}`}\n`;
    }),
  );
  return `# Completion of ${name} in fish. In ~/.config/fish/completions/${name}.fish: ${name} completion fish | source
function __${name}_at
    set -l at ''
    set -l before ''
    for word in (commandline -opc)[2..]
        if contains -- "$before" ${optionsWithValues(places).join(' ')}
            set before ''
            continue
        end
        set before $word
        if contains -- "$at/$word" ${pathsOf(places).join(' ')}
            set at "$at/$word"
        end
    end
    test "$at" = "$argv[1]"
end
${lines.join('')}`;
}

/** In single quotes, for any of the shells. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

const SCRIPTS: Record<ShellName, (name: string, places: readonly Place[]) => string> = {
  bash: toBash,
  zsh: toZsh,
  fish: toFish,
};
