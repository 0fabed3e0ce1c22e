import { isFields } from '../../base/fields.ts';
import { type ChatEvent, type JsonObject, type PayloadRef } from './event.ts';
import { refOf } from './payloads.ts';

/** The subject of a redaction: a message, or a batch of questions with its answers. */
export interface Subject {
  readonly kind: 'message' | 'clarification';
  readonly id: string;
}

const ID_FIELD: Readonly<Record<Subject['kind'], string>> = {
  message: 'message_id',
  clarification: 'batch_id',
};

const REDACTION: Readonly<Record<Subject['kind'], string>> = {
  message: 'message_redacted',
  clarification: 'clarification_batch_redacted',
};

/** Returns true for an event with content about the subject, other than its redaction. */
export function isAbout({ type, payload }: ChatEvent, { kind, id }: Subject): boolean {
  return payload[ID_FIELD[kind]] === id && type !== REDACTION[kind];
}

export function redactionOf(
  { kind, id }: Subject,
  more: JsonObject,
): { type: string; payload: JsonObject } {
  return { type: REDACTION[kind], payload: { [ID_FIELD[kind]]: id, ...more } };
}

/** The field with the text of each type. The other types about a message lose everything but its id. */
const TEXT_FIELDS: ReadonlyMap<string, string> = new Map([
  ['message_added', 'content'],
  ['message_stream_delta', 'delta'],
  ['message_completed', 'content'],
  ['message_edited', 'content'],
  ['attachment_added', 'name'],
  ['artifact_added', 'name'],
  ['tool_called', 'name'],
  ['tool_returned', 'result'],
]);

/** The field with the questions or the answers of a batch. */
const LIST_FIELDS: ReadonlyMap<string, string> = new Map([
  ['clarification_batch_opened', 'questions'],
  ['clarification_answer_submitted', 'answers'],
]);

/** The fields that stay of an event: the speaker, the place, and the attached bytes. */
const KEPT = [
  'message_id',
  'role',
  'thread_id',
  'attachment_id',
  'artifact_id',
  'call_id',
  'media_type',
  'hash',
  'size',
];

interface BlankedLine {
  /** The text is never longer than the line was. */
  readonly text: string;
  /** The blob that the payload was in. */
  readonly ref?: PayloadRef;
}

/** Returns a line without its content about the subject; undefined for a line about something else. */
export function blankLine(line: string, subject: Subject): BlankedLine | undefined {
  const event = parse(line);
  if (event === undefined || !isAbout(event, subject)) return undefined;
  const text = JSON.stringify(blankEvent(event, subject));
  const ref = refOf(event.payload);
  return { text, ...(ref !== undefined && { ref }) };
}

/** Returns an event about the subject without its content. The event fits its type as before, and means the same. */
export function blankEvent(event: ChatEvent, { kind, id }: Subject): ChatEvent {
  const payload =
    kind === 'message' ? blankMessage(event, id) : blankBatch(event.type, event.payload, id);
  return { ...event, payload };
}

function blankMessage({ type, payload }: ChatEvent, message: string): JsonObject {
  const field = TEXT_FIELDS.get(type);
  if (field === undefined) return { message_id: message };
  const kept = Object.entries(payload).filter(([name]) => KEPT.includes(name));
  return { ...Object.fromEntries(kept), [field]: '' };
}

function blankBatch(type: string, payload: JsonObject, batch: string): JsonObject {
  const field = LIST_FIELDS.get(type);
  if (field === undefined) return { batch_id: batch };
  const list = payload[field];
  const isEmpty = Array.isArray(list) && list.length === 0;
  // A batch without questions is not a batch, except one whose questions were erased.
  const erased = payload['erased'] === true || !isEmpty;
  return { batch_id: batch, [field]: [], ...(erased && { erased: true }) };
}

function parse(line: string): ChatEvent | undefined {
  const value: unknown = JSON.parse(line);
  return isFields(value) && isFields(value['payload'])
    ? (value as unknown as ChatEvent)
    : undefined;
}
