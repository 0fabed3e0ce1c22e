import { describe, expect, it } from 'vitest';
import { listFiles, readProject } from '../support/project.ts';
import { guideProblems, proseProblems } from './prose.ts';

// Documents that people read in a hurry and in their second language: short sentences with a subject, short lines.
const guide = listFiles('docs/guide', /\.md$/);
const documents = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'AGENTS.md',
  'SECURITY.md',
  ...listFiles('docs', /\.md$/),
];

/** The frames of the protocol as bytes, which have a line for each part. */
const isBytes = (document: string): boolean => document.endsWith('wire-examples.md');

describe.each(documents.filter((document) => !isBytes(document)))('%s', (document) => {
  it('has short sentences and lines, and paragraphs that name their subject', () => {
    expect(proseProblems(readProject(document))).toEqual([]);
  });
});

describe.each(guide)('%s', (document) => {
  it('says what a reader can do after it, and shows an example that runs', () => {
    expect(guideProblems(readProject(document))).toEqual([]);
  });
});

it('the index of the guide leads to each of its pages', () => {
  const index = readProject('docs/guide/index.md');
  const pages = guide
    .map((file) => file.replace('docs/guide/', ''))
    .filter((page) => page !== 'index.md');
  expect(pages.filter((page) => !index.includes(`](${page})`))).toEqual([]);
});

it('the index of the guide lists every example', () => {
  const index = readProject('docs/guide/index.md');
  const examples = listFiles('examples', /\.(?:mjs|py)$/);
  expect(examples.length).toBeGreaterThan(0);
  expect(examples.filter((example) => !index.includes(`](../../${example})`))).toEqual([]);
});

describe('proseProblems', () => {
  const words = (count: number): string => `${'W '.repeat(count - 1)}end.`;

  it('finds a sentence of 31 words, in a paragraph, a list and a cell', () => {
    expect(proseProblems(`One. ${words(31)}`)).toEqual([`1: 31 words: ${words(31)}`]);
    expect(proseProblems(`- ${words(30)}\n- ${words(31)}`)).toEqual([`2: 31 words: ${words(31)}`]);
    expect(proseProblems(`| a |\n|---|\n| ${words(31)} |`)).toEqual([`3: 31 words: ${words(31)}`]);
  });

  it('counts a code span as one word and ends a sentence before one', () => {
    const half = 'w '.repeat(15).trimEnd();
    expect(proseProblems(`${half}. \`a b c d\` ${half}.`)).toEqual([]);
    expect(proseProblems(`${half} \`a b c d\` ${half}.`)).toHaveLength(1);
  });

  it('finds a line of 121 columns, also of code, and not in a table', () => {
    const long = 'x'.repeat(121);
    expect(proseProblems(`${long}\n\n| ${long} |`)).toEqual(['1: 121 columns']);
    expect(proseProblems(`\`\`\`sh\n${long}\n\`\`\``)).toEqual(['2: 121 columns']);
  });

  it('takes a record of any length, and not a sentence beside one', () => {
    const hex = '0f'.repeat(60);
    const json = `{"name":"${'x'.repeat(120)}"}`;
    expect(proseProblems(`Example mark: \`${hex}\``)).toEqual([]);
    expect(proseProblems(`\`\`\`json\n${json}\n\`\`\``)).toEqual([]);
    expect(proseProblems(`A mark is \`${hex}\`, as here.`)).toHaveLength(1);
  });

  it.each([
    'It came.',
    '- They are here.',
    '**What** is kept stays.',
    '> Who asks?',
    'This is it.',
  ])('finds the pronoun in %j', (text) => expect(proseProblems(text)).toHaveLength(1));

  it.each(['The reply arrived.', 'This page is short.', '## What you get', '`it` is code.'])(
    'takes %j',
    (text) => expect(proseProblems(text)).toEqual([]),
  );
});

describe('guideProblems', () => {
  const promise = 'After reading this page you can read.';
  const example = '```sh\nquipu stats\n```';

  it('takes a page with its promise and its example', () => {
    expect(guideProblems(`# T\n\n${promise}\n\n## A\n\n${example}`)).toEqual([]);
  });

  it.each([
    ['no promise', `# T\n\nHello.\n\n${promise}\n\n${example}`],
    ['no example', `# T\n\n${promise}\n\n\`\`\`text\na\n\`\`\``],
    ['npm alone', `# T\n\n${promise}\n\n\`\`\`sh\nnpm install\n\`\`\``],
    ['details first', `# T\n\n${promise}\n\n## A\n\n## B\n\n${example}`],
  ])('finds a page with %s', (_, markdown) => {
    expect(guideProblems(markdown)).toHaveLength(1);
  });
});
