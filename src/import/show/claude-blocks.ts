import { toCall, toImage, toResult, toText, type Block, type ImageBlock } from '../source/block.ts';
import { at, listAt, textAt, textOf } from '../source/fields.ts';

/** The content of a message of Anthropic's interface: text, or a list of blocks. */
export function showBlocks(content: unknown): readonly Block[] {
  if (typeof content === 'string') return toText(content);
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
      return [toCall(textAt(block, 'id'), textAt(block, 'name'), at(block, 'input'))];
    case 'tool_result': {
      const failed = at(block, 'is_error') === true;
      const images = listAt(block, 'content').flatMap(imageIn);
      return [
        toResult(textAt(block, 'tool_use_id'), textOf(at(block, 'content')), { failed, images }),
      ];
    }
    default:
      return imageIn(block);
  }
}

function imageIn(block: unknown): ImageBlock[] {
  if (textAt(block, 'type') !== 'image') return [];
  return toImage(textAt(block, 'source', 'data'), textAt(block, 'source', 'media_type'));
}
