import type { ChatEvent, JsonObject, PayloadRef } from './event.ts';
import { isObject } from './event.ts';
import { refOf } from './payloads.ts';

/** Where the text of each type is; the other types that speak of a message lose all but its id. */
const TEXT_FIELDS: ReadonlyMap<string, string> = new Map([
  ['message_added', 'content'],
  ['message_stream_delta', 'delta'],
  ['message_completed', 'content'],
  ['message_edited', 'content'],
  ['attachment_added', 'name'],
]);

/** What stays of an event: who and where, and which bytes were attached. */
const KEPT = ['message_id', 'role', 'thread_id', 'attachment_id', 'media_type', 'hash', 'size'];

export interface BlankedLine {
  /** Never longer than the line was. */
  readonly text: string;
  /** The blob that the payload was in. */
  readonly ref?: PayloadRef;
}

/** A line about a message without what it said; undefined for one that has nothing to lose. */
export function blankLine(line: string, message: string): BlankedLine | undefined {
  const event = parse(line);
  if (event?.payload['message_id'] !== message || event.type === 'message_redacted') {
    return undefined;
  }
  const { payload } = event;
  const kept = Object.entries(payload).filter(([name]) => KEPT.includes(name));
  const field = TEXT_FIELDS.get(event.type);
  const left: JsonObject = {
    ...(field === undefined ? { message_id: message } : Object.fromEntries(kept)),
    ...(field !== undefined && { [field]: '' }),
  };
  const text = JSON.stringify({ ...event, payload: left });
  if (text === line.trimEnd()) return undefined;
  const ref = refOf(payload);
  return { text, ...(ref !== undefined && { ref }) };
}

function parse(line: string): ChatEvent | undefined {
  const value: unknown = JSON.parse(line);
  return isObject(value) && isObject(value['payload'])
    ? (value as unknown as ChatEvent)
    : undefined;
}
