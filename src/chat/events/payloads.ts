import { isFields } from '../../base/fields.ts';
import type { ChatEvent, JsonObject, NewEvent, PayloadRef } from './event.ts';

// The payloads of version 1. Fields that are not named here are kept and have no meaning here, so that programs can add
// their own without asking.

export const MAIN_BRANCH = 'main';

export type QuestionKind = 'single' | 'multiple' | 'yes_no' | 'text';

export interface Question {
  readonly id: string;
  readonly text: string;
  readonly kind: QuestionKind;
  /** For `single` and `multiple`: the allowed answers, word for word. */
  readonly options?: readonly string[];
}

export interface Answer {
  readonly question_id: string;
  /** A list for `multiple`, `yes` or `no` for `yes_no`. */
  readonly value: string | readonly string[];
}

export interface BatchPayload {
  readonly batch_id: string;
  readonly title?: string;
  readonly questions: readonly Question[];
}

type Check = (payload: JsonObject) => string | undefined;

function texts(...names: readonly string[]): Check {
  return (payload) => {
    const wrong = names.find((name) => typeof payload[name] !== 'string');
    return wrong === undefined ? undefined : `${wrong} is not a string`;
  };
}

function optional(name: string, check: (value: unknown) => boolean): Check {
  return (payload) =>
    payload[name] === undefined || check(payload[name]) ? undefined : `${name} is of another kind`;
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isFlag = (value: unknown): boolean => typeof value === 'boolean';

function all(...checks: readonly Check[]): Check {
  return (payload) => {
    for (const check of checks) {
      const problem = check(payload);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
}

const ofMessage: Check = all(
  texts('message_id'),
  optional('thread_id', isText),
  optional('role', isText),
  (payload) => (payload['message_id'] === '' ? 'message_id is empty' : undefined),
);

/** A text that may have been moved to a blob together with its payload. */
function textOrRef(name: string): Check {
  return (payload) =>
    refOf(payload) === undefined && !isText(payload[name]) ? `${name} is not a string` : undefined;
}

const questions: Check = ({ questions: list, erased }) => {
  if (Array.isArray(list) && list.length === 0 && erased === true) return undefined;
  if (!Array.isArray(list) || list.length === 0) return 'questions is not a list of some';
  return list.every(isQuestion)
    ? undefined
    : 'a question has an id, a text, and the kind single, multiple, yes_no or text';
};

const KINDS: ReadonlySet<unknown> = new Set<QuestionKind>(['single', 'multiple', 'yes_no', 'text']);

function isQuestion(value: unknown): boolean {
  return (
    isFields(value) &&
    isText(value['id']) &&
    isText(value['text']) &&
    KINDS.has(value['kind']) &&
    (value['options'] === undefined || isTextList(value['options']))
  );
}

function isTextList(value: unknown): boolean {
  return Array.isArray(value) && value.every(isText);
}

const answers: Check = ({ answers: list }) => {
  if (!Array.isArray(list)) return 'answers is not a list';
  const fits = (value: unknown): boolean =>
    isFields(value) &&
    isText(value['question_id']) &&
    (isText(value['value']) || isTextList(value['value']));
  return list.every(fits)
    ? undefined
    : 'an answer has a question_id, and a value that is a text or a list of texts';
};

interface EventType {
  readonly check: Check;
  /** The field with the text. Without one, an event about a message loses everything but its id in an erasure. */
  readonly text?: string;
  /** The field with the questions or the answers of a batch. */
  readonly list?: string;
}

const reason = optional('reason', isText);
const toMessage = optional('message_id', isText);

/** Every type of version 1. */
const TYPES: ReadonlyMap<string, EventType> = new Map(
  Object.entries<EventType>({
    message_added: { check: all(ofMessage, texts('role'), textOrRef('content')), text: 'content' },
    message_stream_delta: { check: all(ofMessage, textOrRef('delta')), text: 'delta' },
    message_completed: {
      check: all(ofMessage, texts('role'), textOrRef('content')),
      text: 'content',
    },
    message_edited: { check: all(ofMessage, textOrRef('content')), text: 'content' },
    message_redacted: { check: all(ofMessage, reason) },
    thread_forked: {
      check: all(texts('new_thread_id', 'parent_message_id'), optional('before', isFlag)),
    },
    attachment_added: {
      check: all(texts('attachment_id', 'hash', 'name'), toMessage),
      text: 'name',
    },
    artifact_added: { check: all(texts('artifact_id', 'hash', 'name'), toMessage), text: 'name' },
    tool_called: { check: all(texts('call_id', 'name'), toMessage), text: 'name' },
    tool_returned: {
      check: all(texts('call_id'), toMessage, optional('error', isText)),
      text: 'result',
    },
    clarification_batch_opened: { check: all(texts('batch_id'), questions), list: 'questions' },
    clarification_answer_submitted: { check: all(texts('batch_id'), answers), list: 'answers' },
    clarification_batch_redacted: { check: all(texts('batch_id'), reason) },
    clarification_batch_dismissed: { check: all(texts('batch_id'), reason) },
  }),
);

export function isKnownType(type: string): boolean {
  return TYPES.has(type);
}

/** Returns the problem of the payload of a known type; undefined when there is none. */
export function payloadProblem(type: string, payload: JsonObject): string | undefined {
  return TYPES.get(type)?.check(payload);
}

/** True for an event that names a blob: a file of a person, or one that the agent made. */
export function isAttachment({ type }: { readonly type: string }): boolean {
  return type === 'attachment_added' || type === 'artifact_added';
}

/** The real place of the payload, when it was too long for its line. */
export function refOf(payload: JsonObject): PayloadRef | undefined {
  const ref = payload['payload_ref'];
  if (!isFields(ref) || typeof ref['hash'] !== 'string' || typeof ref['size'] !== 'number') {
    return undefined;
  }
  return /^[0-9a-f]{64}$/.test(ref['hash']) ? { hash: ref['hash'], size: ref['size'] } : undefined;
}

/** The fields that stay in the line when a payload goes to a blob: projections need them. */
const KEPT_IN_LINE = [
  'message_id',
  'call_id',
  'name',
  'role',
  'thread_id',
  'batch_id',
  'model',
  'usage',
  'new_thread_id',
  'parent_message_id',
  'before',
  'reason',
  'erased',
  'interrupted',
] as const;

export function toStub(payload: JsonObject, ref: PayloadRef): JsonObject {
  const kept = KEPT_IN_LINE.filter((name) => payload[name] !== undefined);
  return { ...Object.fromEntries(kept.map((name) => [name, payload[name]])), payload_ref: ref };
}

/** The subject of a redaction: a message, or a batch of questions with its answers. */
export interface Subject {
  readonly kind: 'message' | 'clarification';
  readonly id: string;
}

const SUBJECTS = {
  message: { idField: 'message_id', redaction: 'message_redacted' },
  clarification: { idField: 'batch_id', redaction: 'clarification_batch_redacted' },
} as const;

/** Returns true for an event with content about the subject, other than its redaction. */
export function isAbout({ type, payload }: ChatEvent, { kind, id }: Subject): boolean {
  const { idField, redaction } = SUBJECTS[kind];
  return payload[idField] === id && type !== redaction;
}

export function redactionOf({ kind, id }: Subject, more: JsonObject): NewEvent {
  const { idField, redaction } = SUBJECTS[kind];
  return { type: redaction, payload: { [idField]: id, ...more } };
}

/** The fields that stay of a redacted event: the speaker, the place, and the attached bytes. */
const KEPT_OF_REDACTED = [
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
  const value: unknown = JSON.parse(line);
  if (!isFields(value) || !isFields(value['payload'])) return undefined;
  const event = value as unknown as ChatEvent;
  if (!isAbout(event, subject)) return undefined;
  const text = JSON.stringify(blankEvent(event, subject));
  const ref = refOf(event.payload);
  return { text, ...(ref !== undefined && { ref }) };
}

/** Returns an event about the subject without its content. The event fits its type as before, and means the same. */
export function blankEvent(event: ChatEvent, { kind, id }: Subject): ChatEvent {
  const payload = kind === 'message' ? blankMessage(event, id) : blankBatch(event, id);
  return { ...event, payload };
}

function blankMessage({ type, payload }: ChatEvent, message: string): JsonObject {
  const field = TYPES.get(type)?.text;
  if (field === undefined) return { message_id: message };
  const kept = Object.entries(payload).filter(([name]) => KEPT_OF_REDACTED.includes(name));
  return { ...Object.fromEntries(kept), [field]: '' };
}

function blankBatch({ type, payload }: ChatEvent, batch: string): JsonObject {
  const field = TYPES.get(type)?.list;
  if (field === undefined) return { batch_id: batch };
  const list = payload[field];
  const isEmpty = Array.isArray(list) && list.length === 0;
  // A batch without questions is not a batch, except one whose questions were erased.
  const erased = payload['erased'] === true || !isEmpty;
  return { batch_id: batch, [field]: [], ...(erased && { erased: true }) };
}
