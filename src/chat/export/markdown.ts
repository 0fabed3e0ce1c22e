import { toMarkdownLine } from '../../base/text.ts';
import type { ChatProblem } from '../events/event.ts';
import type { ClarificationBatch } from '../handle/chats.ts';
import type { ChatMessage } from '../projections/message-part.ts';

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

// The text of a message as a Markdown quotation, and back. Every line begins with ">", so no line of a message can end
// the quotation. Within it Markdown means what its writer meant, but for two things that would reach beyond it: raw HTML,
// and a carriage return that is not the end of a line. Both become character references.
//
// In code a reference would be shown as it is written. So "<" stays as it is where the text is certainly code: in a fence
// that begins at the start of a line, and in code spans of simple paragraphs. In doubt the text is not code.

interface Codec {
  /** A text that looks like a reference of ours gets one more "amp;". */
  readonly lookalike: RegExp;
  readonly reference: RegExp;
}

const TEXT: Codec = {
  lookalike: /&(?=(?:amp;)*(?:lt|#13);)/g,
  reference: /&(lt|#13);|&amp;(?=(?:amp;)*(?:lt|#13);)/g,
};
const CODE: Codec = {
  lookalike: /&(?=(?:amp;)*#13;)/g,
  reference: /&(#13);|&amp;(?=(?:amp;)*#13;)/g,
};
/** To look for spans takes time with the square of the length of a line. */
const SPAN_LINE_CHARS_MAX = 4096;
/** The beginning of a tag, a comment or an autolink. Any other "<" is a plain character. */
const TAG = /<(?=[A-Za-z/!?])/g;

function quote(content: string): string {
  const lines = content.split('\n');
  const last = lines.length - 1;
  return mapParts(lines, (part, isCode, at) => {
    // Before a line feed, a carriage return is a part of the end of the line.
    const loneReturn = at === last ? /\r/g : /\r(?!$)/g;
    const kept = part.replace((isCode ? CODE : TEXT).lookalike, '&amp;');
    return (isCode ? kept : kept.replace(TAG, '&lt;')).replace(loneReturn, '&#13;');
  })
    .map((line) => (line === '' ? '>' : `> ${line}`))
    .join('\n');
}

/** `quoted` are the lines of a quotation, as `quote` wrote them. References do not change what is code. */
function unquote(quoted: readonly string[]): string {
  const lines = quoted.map((line) => (line === '>' ? '' : line.slice(2)));
  return mapParts(lines, (part, isCode) =>
    part.replace((isCode ? CODE : TEXT).reference, (_, name?: string) => {
      if (name === undefined) return '&';
      return name === 'lt' ? '<' : '\r';
    }),
  ).join('\n');
}

/** Changes the parts of each line that are code, and those that are not. */
function mapParts(
  lines: readonly string[],
  change: (part: string, isCode: boolean, line: number) => string,
): string[] {
  const code = findCode(lines);
  return lines.map((line, at) => {
    if (code[at] !== 'spans') return change(line, code[at] === 'all', at);
    // The groups of the pattern stand between the texts: the span, and its mark.
    const parts = line.split(/((?<!`)(`+)(?!`).*?(?<!`)\2(?!`))/);
    return parts.map((part, n) => (n % 3 === 2 ? '' : change(part, n % 3 === 1, at))).join('');
  });
}

/** `all`: the line is code. `spans`: its code spans can be trusted. */
type Code = 'all' | 'spans' | 'none';

function findCode(lines: readonly string[]): Code[] {
  const simple = findSimple(lines);
  const code: Code[] = [];
  let fence = '';
  let inDoubt = false;
  for (const [at, line] of lines.entries()) {
    const [, indent, mark = '', info = ''] = /^( {0,3})(`{3,}|~{3,})(.*)$/s.exec(line) ?? [];
    if (fence !== '') {
      code.push('all');
      if (mark.startsWith(fence) && /^[ \t]*\r?$/.test(info)) fence = '';
      continue;
    }
    const opens = mark !== '' && !(mark.startsWith('`') && info.includes('`'));
    // Such a fence may belong to a list, and then ends where the list does.
    if (opens && indent !== '') inDoubt = true;
    if (opens && !inDoubt) {
      fence = mark;
      code.push('all');
    } else code.push(!inDoubt && simple[at] === true ? 'spans' : 'none');
  }
  return code;
}

/**
 * Tells for each line whether the code spans of all lines around it, up to the next blank lines, begin and end in their
 * line. Then they are code wherever a paragraph begins. Tables, links and escapes are read before or beside code spans.
 */
function findSimple(lines: readonly string[]): boolean[] {
  const simple: boolean[] = [];
  while (simple.length < lines.length) {
    const from = simple.length;
    let end = from;
    let isSimple = true;
    for (; end < lines.length && !/^[ \t]*$/.test(lines[end] ?? ''); end += 1) {
      isSimple &&= hasOwnSpans(lines[end] ?? '');
    }
    // The blank line goes with the lines before it.
    for (let at = from; at <= end && at < lines.length; at += 1) simple.push(isSimple);
  }
  return simple;
}

function hasOwnSpans(line: string): boolean {
  // Without what references add, so that a line has one length before and after.
  const { length } = line.replace(/amp;|lt;|#13;|[<&\r]/g, '');
  if (length > SPAN_LINE_CHARS_MAX || /[|\\\r]|#13;|\][(:[]/.test(line)) return false;
  return !line.replace(/(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)/g, '').includes('`');
}
