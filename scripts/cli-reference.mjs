// Writes the part of the reference pages that comes from the verbs: after the heading of each verb its summary, synopsis,
// arguments, options and examples. The text that follows this part is written by hand and stays. A verb without a
// heading gets one at the end of its page.
//
//   npm run docs:cli              writes the pages
//   npm run docs:cli -- --check   says which pages are not as the verbs have them

import { readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { Option } from 'commander';
import { listVerbs } from '../dist/cli/kit/verb.js';
import { quipu } from '../dist/cli/program.js';
import { thread } from '../dist/cli/thread/program.js';
import { notifier } from '../dist/notifier/program.js';

const PAGES = [
  { program: quipu, path: 'docs/reference/cli.md' },
  { program: thread, path: 'docs/reference/queue.md' },
  { program: notifier, path: 'docs/reference/notifier.md' },
];

const BEGIN = '<!-- from the verb, by npm run docs:cli -->';
const END = '<!-- end -->';

function toSection(program, words, verb) {
  const { summary, more, takes = [], examples, exits } = verb;
  const name = `${program.name} ${words}`;
  const named = takes.filter((taken) => !(taken instanceof Option));
  const options = takes.filter((taken) => taken instanceof Option && !taken.hidden);
  const needed = options.filter(({ mandatory }) => mandatory);
  const synopsis = [
    name,
    ...named.map(toArgument),
    ...needed.map(({ flags }) => flags),
    ...(options.length > needed.length || program.common().length > 0 ? ['[options]'] : []),
  ].join(' ');
  const table = toTable([...named, ...options].map(toRow));
  const paragraphs = more === undefined ? '' : `\n${escapeMarkdown(more)}\n`;
  const codes = exits === undefined ? '' : `\nExit codes: ${exits}.\n`;
  const shown = examples.map((line) => `$ ${line}\n`).join('');
  return toPart(`
${escapeMarkdown(summary)}

    ${synopsis}
${table}${paragraphs}${codes}
\`\`\`text
${shown}\`\`\`
`);
}

function toPart(text) {
  return `${BEGIN}\n${text}\n${END}`;
}

function toTable(rows) {
  return rows.length === 0 ? '' : `\n| | |\n|---|---|\n${rows.join('')}`;
}

function toRow(taken) {
  const name = taken instanceof Option ? taken.flags : toArgument(taken);
  return `| \`${name}\` | ${toMeaning(taken)} |\n`;
}

function toArgument(argument) {
  const name = `<${argument.name()}>${argument.variadic ? '…' : ''}`;
  return argument.required ? name : `[${name}]`;
}

function toMeaning({ description, mandatory, argChoices, defaultValue, negate }) {
  const facts = [
    ...(mandatory === true ? ['required'] : []),
    ...(argChoices === undefined ? [] : [argChoices.map((value) => `\`${value}\``).join(', ')]),
    ...(defaultValue === undefined || negate === true ? [] : [`default \`${defaultValue}\``]),
  ];
  const text = escapeMarkdown(description).replaceAll('|', String.raw`\|`);
  return [text, ...facts].join('; ');
}

/** A text of the help, with words in angle brackets and quotes as they stand. */
function escapeMarkdown(text) {
  return text.replaceAll('*', String.raw`\*`).replaceAll(/<(?=[a-z])/g, String.raw`\<`);
}

/** The page with the parts of the verbs as they are now. */
async function write(program, page) {
  const sections = (await listVerbs(program)).map(([words, verb]) => [
    `### ${program.name} ${words}\n`,
    toSection(program, words, verb),
  ]);
  const common = program.common();
  if (common.length > 0)
    sections.unshift(['## For all commands\n', toPart(toTable(common.map(toRow)))]);
  let text = page;
  for (const [heading, made] of sections) {
    if (!text.includes(`\n${heading}`)) text = `${text.trimEnd()}\n\n${heading}\n${made}\n`;
    const start = text.indexOf(`\n${heading}`) + 1 + heading.length;
    const next = text.indexOf('\n#', start);
    const section = text.slice(start, next === -1 ? text.length : next);
    const old = section.startsWith(`\n${BEGIN}`) ? section.indexOf(END) + END.length : 0;
    const rest = section.slice(old).trim();
    const after = rest === '' ? '\n' : `\n\n${rest}\n`;
    text = `${text.slice(0, start)}\n${made}${after}${next === -1 ? '' : text.slice(next)}`;
  }
  return text;
}

let stale = 0;
for (const { program, path } of PAGES) {
  const page = readFileSync(path, 'utf8');
  const text = await write(program, page);
  if (text === page) continue;
  stale += 1;
  if (process.argv.includes('--check'))
    console.error(`${path} is not as the verbs have it: npm run docs:cli`);
  else writeFileSync(path, text);
}
process.exitCode = process.argv.includes('--check') && stale > 0 ? 1 : 0;
