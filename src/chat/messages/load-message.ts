import { parseBoundedJson } from '../../base/bounded-json.ts';
import { isQuipuError } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import { mustRead } from '../events/chat-lines.ts';
import type { ChatEvent, JsonObject, PayloadRef } from '../events/event.ts';
import { isObject } from '../events/event.ts';
import { refOf } from '../events/payloads.ts';
import type { MessagePart } from '../projections/message-part.ts';
import { textsOf, toMessage } from '../projections/message.ts';
import type { ChatMessage } from '../projections/message.ts';

/** Loads a message with its text, wherever the text is. */
export async function loadMessage(engine: Engine, part: MessagePart): Promise<ChatMessage> {
  let content = '';
  let isMissing = false;
  for (const text of textsOf(part)) {
    if (typeof text === 'string') {
      content += text;
      continue;
    }
    const payload = await readPayload(engine, text);
    const found = payload?.['content'] ?? payload?.['delta'];
    if (typeof found === 'string') content += found;
    else isMissing = true;
  }
  const message = toMessage(part, content);
  return isMissing ? { ...message, missing: true } : message;
}

/**
 * Loads the event with all of its payload. If the payload cannot be found, returns the event as it stands in the log.
 */
export async function loadEvent(engine: Engine, event: ChatEvent): Promise<ChatEvent> {
  const ref = refOf(event.payload);
  const payload = ref && (await readPayload(engine, ref));
  return payload === undefined ? event : { ...event, payload };
}

async function readPayload(engine: Engine, { hash }: PayloadRef): Promise<JsonObject | undefined> {
  try {
    const value: unknown = parseBoundedJson(await mustRead(engine, hash));
    return isObject(value) ? value : undefined;
  } catch (error) {
    if (isQuipuError(error, 'NOT_FOUND') || isQuipuError(error, 'CORRUPT')) return undefined;
    // SyntaxError: the log names a blob that is something else.
    if (error instanceof SyntaxError || isQuipuError(error, 'INVALID')) return undefined;
    throw error;
  }
}
