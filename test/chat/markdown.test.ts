import { Parser, HtmlRenderer, type Node } from 'commonmark';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatBatch,
  formatHead,
  formatMessage,
  parseMarkdown,
} from '../../src/chat/export/markdown.ts';
import type { ClarificationBatch } from '../../src/chat/handle/chats.ts';
import type { ChatMessage } from '../../src/chat/projections/message-part.ts';

const PIECES = [
  '`',
  '```',
  '~~~',
  '#',
  '<',
  '>',
  '-',
  '!',
  '\n',
  '\r',
  ' ',
  '   ',
  '\t',
  '\u0000',
  '"',
  '\\',
  'é',
  '\u2028',
  '|',
  '[a](',
  ')',
  ']:',
  '&lt;',
  '&amp;',
  '&#13;',
  'a',
  '- ',
  '1. ',
  '> ',
  '---',
  '=',
  '<b>',
  '</blockquote>',
  '<!--',
  '-->',
  '<script>',
  '<https://x>',
  '<?x',
  '<![CDATA[',
  '\n\n',
  '    ',
];
const text = fc.array(fc.constantFrom(...PIECES), { maxLength: 30 }).map((list) => list.join(''));

function messageOf(given: Pick<ChatMessage, 'content' | 'role' | 'id' | 'at'>): ChatMessage {
  return { ...given, seq: 1, branch: 'main', state: 'complete', edits: 0, attachments: [] };
}
const said = (content: string): ChatMessage =>
  messageOf({ content, role: 'user', id: 'm', at: 't' });
const message = fc.record({ content: text, role: text, id: text, at: text }).map(messageOf);
const batch = text.map((question): ClarificationBatch => ({
  batch_id: 'b',
  seq: 2,
  at: 't',
  title: question,
  state: 'answered',
  reason: question,
  questions: [
    { id: 'q', text: question, kind: 'single', options: [question], answer: question },
    { id: 'r', text: 'Some?', kind: 'multiple', options: ['x', 'y'], answer: ['x', 'y'] },
  ],
}));

/** The blocks of a document, and all raw HTML in it. */
function outline(markdown: string): { blocks: string[]; html: string[] } {
  const document = new Parser().parse(markdown);
  const blocks: string[] = [];
  for (let block = document.firstChild; block !== null; block = block.next) {
    const level = block.type === 'heading' ? block.level : '';
    blocks.push(`${block.type}${level}`);
  }
  const html: string[] = [];
  const walker = document.walker();
  for (let step = walker.next(); step !== null; step = walker.next()) {
    const { type, literal }: Node = step.node;
    if (step.entering && type.startsWith('html')) html.push(literal ?? '');
  }
  return { blocks, html };
}

const render = (content: string): string => new HtmlRenderer().render(new Parser().parse(content));
const quoted = (content: string): string => {
  const html = render(formatMessage(said(content)));
  return html.slice(html.indexOf('<blockquote>\n') + 13, html.lastIndexOf('</blockquote>'));
};

describe('a chat as Markdown', () => {
  it('reads back whatever is in it', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 4 }), batch, text, (messages, asked, title) => {
        const head = { id: 'c', title, branch: 'main' };
        const written =
          formatHead(head) + messages.map(formatMessage).join('') + formatBatch(asked);
        expect(parseMarkdown(written)).toEqual({ head, messages, clarifications: [asked] });
      }),
      { numRuns: 300 },
    );
  });

  it('keeps the shape of the document, and has no HTML but its own comments', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 3 }), batch, (messages, asked) => {
        const written = messages.map(formatMessage).join('') + formatBatch(asked);
        const { blocks, html } = outline(written);
        const own = ['heading2', 'html_block', 'block_quote'];
        expect(blocks).toEqual([...messages.flatMap(() => own), 'heading2', 'html_block', 'list']);
        expect(
          html.filter((raw) => !/^<!-- (?:message|questions) \{[^<>]*\} -->$/.test(raw)),
        ).toEqual([]);
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ['headings, lists and links', '# Title\n\n- one\n- *two*\n\n[a](https://x.test) **bold**'],
    ['a fence with tags', 'See:\n\n```html\n<div class="a">&amp; &lt;</div>\n```\n\nDone.'],
    ['a fence that is not closed', '~~~\n<b>'],
    ['code spans with tags', 'Use `Vec<u8>` and ``a`<b>`` here.\n\nAnd `Map<string, T>`.'],
    ['a table', '| a | b |\n|---|---|\n| 1 | 2 |'],
    ['plain comparisons', 'a < b && b > c, x<1'],
  ])('shows %s as the message does alone', (_, content) => {
    expect(quoted(content)).toBe(render(content));
  });

  it('shows tags as text where they are not code', () => {
    expect(quoted('a <b>c</b>')).toBe('<p>a &lt;b&gt;c&lt;/b&gt;</p>\n');
    expect(quoted('- `\n- <b> `')).not.toContain('<b>');
    expect(quoted(' ```\n```\n<b>')).not.toContain('<b>');
    expect(quoted('[a](`) <b> `')).not.toContain('<b>');
  });
});
