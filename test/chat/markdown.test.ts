import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatHead, formatMessage, parseMarkdown } from '../../src/chat/export/markdown.ts';
import type { ChatMessage } from '../../src/chat/projections/message.ts';

describe('a chat as Markdown', () => {
  it('reads back whatever is in it', () => {
    const text = fc.string({
      unit: fc.constantFrom(
        '`',
        '~',
        '#',
        '<',
        '>',
        '-',
        '!',
        '\n',
        '\r',
        ' ',
        '\t',
        '\u0000',
        '"',
        '\\',
        'é',
        '\u2028',
      ),
      maxLength: 60,
    });
    const message = fc
      .record({ content: text, role: text, id: text, at: text })
      .map((given): ChatMessage => ({
        ...given,
        seq: 1,
        branch: 'main',
        state: 'complete',
        edits: 0,
        attachments: [],
      }));
    fc.assert(
      fc.property(fc.array(message, { maxLength: 4 }), text, (messages, title) => {
        const head = { id: 'c', title, branch: 'main' };
        const written = formatHead(head) + messages.map(formatMessage).join('');
        expect(parseMarkdown(written)).toEqual({ head, messages });
      }),
    );
  });
});
