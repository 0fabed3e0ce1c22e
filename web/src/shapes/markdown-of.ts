import { asText } from './messages.ts';
import { showPayload } from './show-turn.ts';
import type { Block } from './shown.ts';

/** A turn as Markdown, for people who take it elsewhere. */
export function toMarkdown(turn: { readonly payload?: unknown; readonly type: string }): string {
  const { role, name, blocks } = showPayload(turn.payload, turn.type);
  return `**${name ?? role}**\n\n${blocks.map(blockMarkdown).join('\n\n')}\n`;
}

function blockMarkdown(block: Block): string {
  if (block.kind === 'text') return block.text;
  if (block.kind === 'thinking') return `> ${block.text.replaceAll('\n', '\n> ')}`;
  if (block.kind === 'call') return fenced(`${block.name} ${asText(block.input) ?? ''}`.trim());
  if (block.kind === 'result') return fenced(block.text);
  if (block.kind === 'json') return fenced(asText(block.value) ?? '');
  return `(${block.kind})`;
}

/** A fence that is longer than any in the text. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}
