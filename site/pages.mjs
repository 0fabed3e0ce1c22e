// The documents of the project, in the order in which a reader meets them. The sidebar and `llms.txt` are made from
// this list. A new document is in it without being listed.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';

const SECTIONS = [
  ['Guide', 'docs/guide'],
  ['Recipes', 'docs/guide/recipes'],
  ['Reference', 'docs/reference'],
  ['Formats', 'docs/format'],
  ['Design', 'docs/design'],
];
const INDEX = 'docs/guide/index.md';
const PROJECT = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];

/** Sections with their pages: a path, a title, and the first paragraph. */
export function listPages(root) {
  const toPage = (path) => {
    const text = readFileSync(join(root, path), 'utf8');
    return {
      path,
      title: titleOf(text) ?? posix.basename(path, '.md'),
      about: aboutOf(text),
      text,
    };
  };
  const sections = SECTIONS.map(([title, folder]) => ({
    title,
    pages: orderedNames(root, folder).map((name) => toPage(posix.join(folder, name))),
  }));
  const project = PROJECT.filter((name) => existsSync(join(root, name))).map(toPage);
  return [...sections, { title: 'Project', pages: project }].filter(
    ({ pages }) => pages.length > 0,
  );
}

/** The index of the guide comes first in its folder. The others follow in the order of its links, then by name. */
function orderedNames(root, folder) {
  if (!existsSync(join(root, folder))) return [];
  const index = readFileSync(join(root, INDEX), 'utf8');
  const linked = [...index.matchAll(/\]\(([\w/-]+\.md)(?:#[^)]*)?\)/g)].map(([, path]) =>
    posix.join(posix.dirname(INDEX), path),
  );
  const rank = (name) => {
    const path = posix.join(folder, name);
    return path === INDEX ? -1 : linked.includes(path) ? linked.indexOf(path) : linked.length;
  };
  const names = readdirSync(join(root, folder)).filter((name) => name.endsWith('.md'));
  return names.toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/** The first heading, without its code marks. */
function titleOf(markdown) {
  return /^# (.+)$/m.exec(markdown)?.[1].replaceAll('`', '');
}

/** The first paragraph after the first heading, as one line of plain text. */
function aboutOf(markdown) {
  const paragraphs = markdown.replace(/^[^]*?^# .+$/m, '').split(/\n{2,}/);
  const first = paragraphs.find((text) => /^[\p{L}`*[]/u.test(text.trim())) ?? '';
  return first
    .trim()
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[*`]/g, '')
    .replaceAll(/\s+/g, ' ');
}
