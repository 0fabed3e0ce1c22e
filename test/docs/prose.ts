import { Parser, type Node } from 'commonmark';

const MAX_WORDS = 30;
const MAX_COLUMNS = 120;

/** Words that leave a reader to ask "who or what?" when a paragraph begins with them. */
const PRONOUNS = new Set(
  'it its they their he she these those that what whatever who whoever whose which both'.split(' '),
);
/** After `This`, the nouns that name its subject. Before anything else it stands alone. */
const NAMED = new Set(
  'page table recipe section guide example command call function method option program process release version'.split(
    ' ',
  ),
);

/** The words of the promise that each page of the guide begins with. */
const PROMISE = /^After reading this page,? you can /;

/** What is hard to read in a document: `<line>: <problem>`, in the order of lines. */
export function proseProblems(markdown: string): string[] {
  const lines = markdown.split('\n');
  const problems: { line: number; problem: string }[] = [];
  lines.forEach((text, index) => {
    const long = text.length > MAX_COLUMNS && !isTableRow(text) && !isRecord(text);
    if (long) problems.push({ line: index + 1, problem: `${text.length} columns` });
  });
  for (const { line, text } of paragraphsOf(markdown, lines)) {
    if (beginsWithPronoun(text)) {
      problems.push({ line, problem: `begins with a pronoun: ${text.slice(0, 40)}` });
    }
    for (const sentence of sentencesOf(text)) {
      const words = countWords(sentence);
      if (words > MAX_WORDS) problems.push({ line, problem: `${words} words: ${sentence}` });
    }
  }
  for (const { line, text } of cellsOf(lines)) {
    for (const sentence of sentencesOf(text)) {
      const words = countWords(sentence);
      if (words > MAX_WORDS) problems.push({ line, problem: `${words} words: ${sentence}` });
    }
  }
  return problems
    .toSorted((a, b) => a.line - b.line)
    .map(({ line, problem }) => `${line}: ${problem}`);
}

/** What a page of the guide lacks: the promise at its beginning, and an example that runs before the details. */
export function guideProblems(markdown: string): string[] {
  const problems: string[] = [];
  const [first] = paragraphsOf(markdown, markdown.split('\n'));
  if (!PROMISE.test(first?.text ?? '')) {
    problems.push('does not begin with "After reading this page you can …"');
  }
  const example = /^```(?:sh|ts|js|python)\n(?!npm )/m.exec(markdown);
  const before = markdown.slice(0, example?.index ?? 0);
  if (example === null) problems.push('has no example that runs');
  if ((before.match(/^## /gm) ?? []).length > 1)
    problems.push('has no example in its first section');
  return problems;
}

interface Passage {
  readonly line: number;
  readonly text: string;
}

/** Paragraphs, also those in lists and quotes. A code span is one word: `§`. */
function paragraphsOf(markdown: string, lines: readonly string[]): Passage[] {
  const found: Passage[] = [];
  const walker = new Parser().parse(markdown).walker();
  for (let event = walker.next(); event !== null; event = walker.next()) {
    const { node, entering } = event;
    if (!entering || node.type !== 'paragraph') continue;
    const line = node.sourcepos[0][0];
    if (!isTableRow(lines[line - 1] ?? '')) found.push({ line, text: textOf(node) });
  }
  return found.filter(({ text }) => text !== '');
}

/** The cells of tables, which CommonMark does not know. */
function cellsOf(lines: readonly string[]): Passage[] {
  let fenced = false;
  return lines.flatMap((row, index) => {
    if (row.startsWith('```')) fenced = !fenced;
    if (fenced || !isTableRow(row)) return [];
    const cells = row.split(/(?<!\\)\|/).map((cell) => textOf(new Parser().parse(cell.trim())));
    return cells.map((text) => ({ line: index + 1, text }));
  });
}

function isTableRow(line: string): boolean {
  return /^\s*\|/.test(line);
}

/** A record that a format shows: bytes in hex, or a line of JSON. A line break would make it another record. */
function isRecord(line: string): boolean {
  return /^(?:[A-Z][^`]*(?:`[^`]*`[^`]*)?: `(?:[0-9a-f]+|\{.*\})`|\{".*\})$/.test(line);
}

function textOf(node: Node): string {
  let text = '';
  const walker = node.walker();
  for (let event = walker.next(); event !== null; event = walker.next()) {
    const { type, literal } = event.node;
    if (!event.entering) continue;
    if (type === 'text') text += literal ?? '';
    if (type === 'code') text += '§';
    if (type === 'softbreak' || type === 'linebreak') text += ' ';
  }
  return text.trim();
}

function sentencesOf(text: string): string[] {
  return text.split(/(?<=[.!?]["”)]*)\s+(?=["“(]*[\p{Lu}\p{N}§])/u);
}

function countWords(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}§]/u.test(word)).length;
}

function beginsWithPronoun(text: string): boolean {
  const [first = '', second = ''] = text.toLowerCase().match(/[\p{L}\p{N}§'’]+/gu) ?? [];
  return PRONOUNS.has(first) || (first === 'this' && !NAMED.has(second));
}
