import type { ChatProblem } from '../events/event.ts';
import type { ChatMessage } from '../projections/message.ts';

// Readable Markdown that can be read back. Each message is a heading for people, a comment with the facts for programs,
// and its text in a fence. The fence is longer than any in the text, so that nothing in a message can end it. Facts are
// JSON in which the characters that end a comment are escaped.

const KIND = 'quipu chat';

export interface MarkdownHead {
  readonly id: string;
  readonly title: string;
  readonly branch: string;
}

type Facts = Omit<ChatMessage, 'content'>;

export function formatHead({ id, title, branch }: MarkdownHead): string {
  const shown = title === '' ? `Chat ${id}` : toPlain(title);
  return `# ${shown}\n\n${toComment(KIND, { id, title, branch })}\n`;
}

export function formatMessage({ content, ...facts }: ChatMessage): string {
  const { role, at, edits, state, redacted, attachments, missing } = facts;
  const notes = [
    ...(edits > 0 ? ['edited'] : []),
    ...(state === 'streaming' ? ['not completed'] : []),
    ...(missing === true ? ['text is missing'] : []),
  ];
  const heading = `\n## ${toPlain(role) || 'unknown'} · ${toPlain(at)}${notes.map((note) => ` · ${note}`).join('')}\n`;
  const files = attachments
    .map(
      ({ name, mediaType, size, hash }) =>
        `- ${toPlain(name)} (${toPlain(mediaType)}, ${size} bytes, ${toPlain(hash)})\n`,
    )
    .join('');
  const body =
    redacted === undefined ? toFence(content) : `*Redacted: ${toPlain(redacted.reason)}*\n`;
  return `${heading}\n${toComment('message', facts)}\n\n${body}${files === '' ? '' : `\n${files}`}`;
}

/** Describes the lines that could not be read, for people. No reader takes this text for a message. */
export function formatDamage(problems: readonly ChatProblem[]): string {
  const lines = problems.map(({ seq, message }) => {
    const where = seq === 0 ? 'the log' : `event ${seq}`;
    return `- ${where}: ${toPlain(message)}\n`;
  });
  return `\n## Unreadable\n\n${lines.join('')}`;
}

/** A fence that no line of the text can end. */
function toFence(content: string): string {
  const runs = content.match(/`+/g) ?? [];
  const longest = runs.reduce((most, run) => Math.max(most, run.length), 2);
  const fence = '`'.repeat(longest + 1);
  return `${fence}text\n${content}\n${fence}\n`;
}

/** One line that means nothing to Markdown or HTML. */
function toPlain(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  return line.replace(/[\\`*_{}[\]<>()#+!|~&-]/g, (mark) => `\\${mark}`);
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
}

/** Parses the output of `formatHead` and `formatMessage`; undefined when the text is something else. */
export function parseMarkdown(text: string): ParsedMarkdown | undefined {
  const lines = text.split('\n');
  let head: MarkdownHead | undefined;
  const messages: ChatMessage[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    head ??= readComment<MarkdownHead>(KIND, line);
    const facts = readComment<Facts>('message', line);
    if (facts === undefined) continue;
    if (facts.redacted !== undefined) {
      messages.push({ ...facts, content: '' });
      continue;
    }
    const fenced = readFence(lines, at + 2);
    if (fenced === undefined) return undefined;
    messages.push({ ...facts, content: fenced.content });
    at = fenced.end;
  }
  return head && { head, messages };
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

function readFence(
  lines: readonly string[],
  at: number,
): { content: string; end: number } | undefined {
  const [, fence] = /^(`{3,})text$/.exec(lines[at] ?? '') ?? [];
  if (fence === undefined) return undefined;
  const end = lines.indexOf(fence, at + 1);
  return end < 0 ? undefined : { content: lines.slice(at + 1, end).join('\n'), end };
}
