// `npm run docs:llms`: writes `llms.txt`, the index of the documents for programs that read them. The site also has
// `llms-full.txt`, which is all of them in one file. With `--check` it writes nothing and says whether it would.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { listPages } from '../site/pages.mjs';

/** A line for each document, by section. */
export function toIndex(root) {
  const { description } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const sections = listPages(root).map(({ title, pages }) => {
    const rows = pages.map(
      (page) => `- [${page.title}](${page.path}): ${firstSentence(page.about)}`,
    );
    return [`## ${title}`, '', ...rows, ''].join('\n');
  });
  return [`# Quipu`, '', `> ${description}`, '', ...sections].join('\n');
}

/** The README, then every document, each under its path. Designs are left out: they are for people who change Quipu. */
export function toFullText(root) {
  const readme = { path: 'README.md', text: readFileSync(join(root, 'README.md'), 'utf8') };
  const pages = listPages(root)
    .filter(({ title }) => !['Design', 'Project'].includes(title))
    .flatMap(({ pages: all }) => all);
  return [readme, ...pages].map(({ path, text }) => `<!-- ${path} -->\n\n${text}`).join('\n');
}

/** Pages promise what a reader can do after them. The index says it without the promise. */
function firstSentence(text) {
  const sentence = /^.*?[.:](?=\s|$)/.exec(text)?.[0].replace(/:$/, '.') ?? text;
  return sentence.replace(/^After reading this page you can (\w)/, (_, letter) =>
    letter.toUpperCase(),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const path = join(root, 'llms.txt');
  const text = toIndex(root);
  if (!process.argv.includes('--check')) writeFileSync(path, text);
  else if (readFileSync(path, 'utf8') !== text) {
    console.error('llms.txt is behind the documents. Run npm run docs:llms.');
    process.exitCode = 1;
  }
}
