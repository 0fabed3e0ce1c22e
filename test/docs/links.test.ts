import { existsSync, readdirSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listFiles, projectPath, readProject } from '../support/project.ts';

const documents = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'AGENTS.md',
  'CHANGELOG.md',
  ...listFiles('docs', /\.md$/),
];

/** A heading's anchor: lower case, without punctuation, with `-` for spaces. */
function anchorsOf(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.*)$/gm)].map((heading) =>
    heading[1]!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe.each(documents)('%s', (document) => {
  it('links to files and headings that exist', () => {
    const text = readProject(document);
    const links = [...text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map((link) => link[1]!);
    const broken = links.filter((link) => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? document : posix.join(posix.dirname(document), path);
      if (!existsSync(projectPath(target))) return true;
      return anchor !== undefined && !anchorsOf(readProject(target)).includes(anchor);
    });
    expect(broken).toEqual([]);
  });
});

describe.each([
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'AGENTS.md',
  ...listFiles('docs/design', /\.md$/),
])('%s', (document) => {
  it('names files of the sources that exist', () => {
    const named = readProject(document).matchAll(
      /`((?:src|test|scripts|web|clients|examples)\/[\w./-]+)`/g,
    );
    const paths = [...new Set([...named].map(([, path]) => path!))];
    expect(paths.filter((path) => !existsSync(projectPath(path)))).toEqual([]);
  });

  it('wraps at 120 columns', () => {
    const lines = readProject(document).split('\n');
    expect(lines.filter((line) => line.length > 120)).toEqual([]);
  });
});

it('the map of ARCHITECTURE.md has a row for every folder of src, and no other', () => {
  const map = readProject('ARCHITECTURE.md').split('## One append')[0]!;
  const [table = ''] = map.split('| beside `src`').slice(0, 1);
  const rows = [...table.matchAll(/^\| (`[^|]+`) \|/gm)].map(([, names]) => names!);
  const named = rows.flatMap((names) => [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name!));
  const folders = readdirSync(projectPath('src'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  expect(named.toSorted()).toEqual(folders.toSorted());
});
