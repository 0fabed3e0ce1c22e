import { isFields } from '../../base/fields.ts';
import { toCall, toImageOfUrl, toResult, toText } from '../source/block.ts';
import type { Block, ImageBlock } from '../source/block.ts';
import { at, listAt, textAt, textOf } from '../source/fields.ts';

/** From September 2025 on, a record is `{timestamp, type, payload}`. */
export function isEnvelope(value: unknown): boolean {
  return isFields(value) && isFields(value['payload']) && typeof value['type'] === 'string';
}

export function showRecord(record: unknown): readonly Block[] {
  return showItem(isEnvelope(record) ? at(record, 'payload') : record);
}

/** The content of an item of OpenAI's interface for responses. */
function showItem(item: unknown): readonly Block[] {
  const type = textAt(item, 'type') ?? '';
  switch (type) {
    case 'message':
    case 'agent_message':
      return listAt(item, 'content').flatMap(showPart);
    case 'user_message':
      return toText(textAt(item, 'message'));
    case 'reasoning':
      return [...listAt(item, 'summary'), ...listAt(item, 'content')].flatMap((part) => {
        const shown = textAt(part, 'text');
        return shown === undefined ? [] : [{ is: 'thinking' as const, text: shown }];
      });
    case 'agent_reasoning':
      return [{ is: 'thinking', text: textAt(item, 'text') ?? '' }];
    case 'item_completed':
      return toText(textOf(at(item, 'item', 'content')) || textAt(item, 'item', 'text'));
    default:
      return showCall(type, item);
  }
}

function showCall(type: string, item: unknown): readonly Block[] {
  const id = textAt(item, 'call_id') ?? textAt(item, 'id') ?? '';
  if (type.endsWith('_output')) {
    const output = at(item, 'output');
    const shown =
      typeof output === 'string' ? output : textOf(output ?? at(item, 'output', 'content'));
    const images = Array.isArray(output) ? output.flatMap(toImage) : [];
    return [toResult(id, shown, { images })];
  }
  if (!type.endsWith('_call')) return [];
  const name = textAt(item, 'name') ?? type.replace(/_call$/, '');
  const input =
    parseArguments(textAt(item, 'arguments')) ?? at(item, 'input') ?? at(item, 'action');
  return [toCall(id, name, input)];
}

function parseArguments(given: string | undefined): unknown {
  try {
    return given === undefined ? undefined : (JSON.parse(given) as unknown);
  } catch {
    // The model may write what is no JSON.
    return given;
  }
}

function showPart(part: unknown): Block[] {
  const shown = textAt(part, 'text');
  return shown === undefined ? toImage(part) : [{ is: 'text', text: shown }];
}

function toImage(part: unknown): ImageBlock[] {
  return toImageOfUrl(textAt(part, 'image_url'));
}
