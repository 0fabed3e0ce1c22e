import type { ChatEvent, JsonObject } from '../events/event.ts';

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
