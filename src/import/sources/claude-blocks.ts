import type { Block, ImageBlock } from '../source/block.ts';
import { at, listAt, textAt, textOf } from '../source/fields.ts';

/** The content of a message of Anthropic's interface: text, or a list of blocks. */
export function showBlocks(content: unknown): readonly Block[] {
  if (typeof content === 'string') return content === '' ? [] : [{ is: 'text', text: content }];
  return Array.isArray(content) ? content.flatMap(showBlock) : [];
}

function showBlock(block: unknown): Block[] {
  switch (textAt(block, 'type') ?? '') {
    case 'text':
      return [{ is: 'text', text: textAt(block, 'text') ?? '' }];
    case 'thinking':
      return [{ is: 'thinking', text: textAt(block, 'thinking') ?? '' }];
    case 'tool_use':
    case 'server_tool_use':
      return [
        {
          is: 'call',
          id: textAt(block, 'id') ?? '',
          name: textAt(block, 'name') ?? '',
          input: at(block, 'input'),
        },
      ];
    case 'tool_result':
      return [
        {
          is: 'result',
          id: textAt(block, 'tool_use_id') ?? '',
          text: textOf(at(block, 'content')),
          failed: at(block, 'is_error') === true,
          images: listAt(block, 'content').flatMap(toImage),
        },
      ];
    default:
      return toImage(block);
  }
}

function toImage(block: unknown): ImageBlock[] {
  const data = textAt(block, 'source', 'data');
  if (textAt(block, 'type') !== 'image' || data === undefined) return [];
  return [{ is: 'image', mime: textAt(block, 'source', 'media_type') ?? 'image/png', data }];
}
