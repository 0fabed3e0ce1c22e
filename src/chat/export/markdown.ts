import { toMarkdownLine } from '../../base/text.ts';
import type { ChatProblem } from '../events/event.ts';
import type { ClarificationBatch } from '../handle/chats.ts';
import type { ChatMessage } from '../projections/message.ts';
import { quote, unquote } from './quote.ts';

// Readable Markdown that can be read back. Each message is a heading for people, a comment with the facts for programs,
// and its text as a quotation, in which its Markdown keeps its meaning. Facts are JSON in which the characters that end a
// comment are escaped.

const KIND = 'quipu chat';

export interface MarkdownHead {
  readonly id: string;
  readonly title: string;
  readonly branch: string;
}

type Facts = Omit<ChatMessage, 'content'>;

export function formatHead({ id, title, branch }: MarkdownHead): string {
  const shown = title === '' ? `Chat ${id}` : toMarkdownLine(title);
  return `# ${shown}\n\n${toComment(KIND, { id, title, branch })}\n`;
}

export function formatMessage({ content, ...facts }: ChatMessage): string {
  const { role, at, edits, state, interrupted, redacted, attachments, missing } = facts;
  const notes = [
    ...(edits > 0 ? ['edited'] : []),
    ...(state === 'streaming' ? ['not completed'] : []),
    ...(interrupted === true ? ['interrupted'] : []),
    ...(missing === true ? ['text is missing'] : []),
  ];
  const heading = `\n## ${toMarkdownLine(role) || 'unknown'} · ${toMarkdownLine(at)}${notes.map((note) => ` · ${note}`).join('')}\n`;
  const files = attachments
    .map(
      ({ name, mediaType, size, hash }) =>
        `- ${toMarkdownLine(name)} (${toMarkdownLine(mediaType)}, ${size} bytes, ${toMarkdownLine(hash)})\n`,
    )
    .join('');
  const body =
    redacted === undefined
      ? `${quote(content)}\n`
      : `*Redacted: ${toMarkdownLine(redacted.reason)}*\n`;
  return `${heading}\n${toComment('message', facts)}\n\n${body}${files === '' ? '' : `\n${files}`}`;
}

/** Describes the lines that could not be read, for people. No reader takes this text for a message. */
export function formatDamage(problems: readonly ChatProblem[]): string {
  const lines = problems.map(({ seq, message }) => {
    const where = seq === 0 ? 'the log' : `event ${seq}`;
    return `- ${where}: ${toMarkdownLine(message)}\n`;
  });
  return `\n## Unreadable\n\n${lines.join('')}`;
}

/** Shows a batch of questions with its answers. */
export function formatBatch(batch: ClarificationBatch): string {
  const { at, state, title, questions, reason, redacted } = batch;
  const notes = [title, state, reason].filter((note) => note !== undefined).map(toMarkdownLine);
  const heading = `\n## ${['Questions', toMarkdownLine(at), ...notes].join(' · ')}\n`;
  const items = questions.map(({ text, options, answer }) => {
    const choice = options === undefined ? '' : ` (${options.map(toMarkdownLine).join(' / ')})`;
    const said =
      answer === undefined ? '' : `\n  Answer: ${toMarkdownLine([answer].flat().join(', '))}`;
    return `- ${toMarkdownLine(text)}${choice}${said}\n`;
  });
  const body = redacted === true ? ['*Redacted*\n'] : items;
  return `${heading}\n${toComment('questions', batch)}\n\n${body.join('')}`;
}

function toComment(kind: string, facts: object): string {
  const json = JSON.stringify(facts).replace(/[-<>\p{Zl}\p{Zp}]/gu, (mark) => {
    return `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return `<!-- ${kind} ${json} -->`;
}

export interface ParsedMarkdown {
  readonly head: MarkdownHead;
  readonly messages: readonly ChatMessage[];
  readonly clarifications: readonly ClarificationBatch[];
}

/** Parses the output of `formatHead`, `formatMessage` and `formatBatch`; undefined when the text is something else. */
export function parseMarkdown(text: string): ParsedMarkdown | undefined {
  const lines = text.split('\n');
  let head: MarkdownHead | undefined;
  const messages: ChatMessage[] = [];
  const clarifications: ClarificationBatch[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    head ??= readComment<MarkdownHead>(KIND, line);
    const batch = readComment<ClarificationBatch>('questions', line);
    if (batch !== undefined) clarifications.push(batch);
    const facts = readComment<Facts>('message', line);
    if (facts === undefined) continue;
    if (facts.redacted !== undefined) {
      messages.push({ ...facts, content: '' });
      continue;
    }
    const quoted = readQuote(lines, at + 2);
    if (quoted.length === 0) return undefined;
    messages.push({ ...facts, content: unquote(quoted) });
    at += 1 + quoted.length;
  }
  return head && { head, messages, clarifications };
}

function readComment<T>(kind: string, line: string): T | undefined {
  const start = `<!-- ${kind} {`;
  if (!line.startsWith(start) || !line.endsWith(' -->')) return undefined;
  try {
    return JSON.parse(line.slice(start.length - 1, -' -->'.length)) as T;
  } catch {
    // SyntaxError: this is a comment of someone else.
    return undefined;
  }
}

function readQuote(lines: readonly string[], from: number): readonly string[] {
  let end = from;
  while (lines[end]?.startsWith('>') === true) end += 1;
  return lines.slice(from, end);
}
