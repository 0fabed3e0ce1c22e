import { isFields } from '../../base/fields.ts';
import { type JsonObject, type PayloadRef } from './event.ts';

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

function isQuestion(value: unknown): boolean {
  return (
    isFields(value) &&
    isText(value['id']) &&
    isText(value['text']) &&
    ['single', 'multiple', 'yes_no', 'text'].includes(String(value['kind'])) &&
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

/** Every type of version 1, and the check of its payload. */
const CHECKS: ReadonlyMap<string, Check> = new Map([
  ['message_added', all(ofMessage, texts('role'), textOrRef('content'))],
  ['message_stream_delta', all(ofMessage, textOrRef('delta'))],
  ['message_completed', all(ofMessage, texts('role'), textOrRef('content'))],
  ['message_edited', all(ofMessage, textOrRef('content'))],
  ['message_redacted', all(ofMessage, optional('reason', isText))],
  ['thread_forked', all(texts('new_thread_id', 'parent_message_id'), optional('before', isFlag))],
  ['attachment_added', all(texts('attachment_id', 'hash', 'name'), optional('message_id', isText))],
  ['artifact_added', all(texts('artifact_id', 'hash', 'name'), optional('message_id', isText))],
  ['tool_called', all(texts('call_id', 'name'), optional('message_id', isText))],
  [
    'tool_returned',
    all(texts('call_id'), optional('message_id', isText), optional('error', isText)),
  ],
  ['clarification_batch_opened', all(texts('batch_id'), questions)],
  ['clarification_answer_submitted', all(texts('batch_id'), answers)],
  ['clarification_batch_redacted', all(texts('batch_id'), optional('reason', isText))],
  ['clarification_batch_dismissed', all(texts('batch_id'), optional('reason', isText))],
]);

export function isKnownType(type: string): boolean {
  return CHECKS.has(type);
}

/** Returns the problem of the payload of a known type; undefined when there is none. */
export function payloadProblem(type: string, payload: JsonObject): string | undefined {
  return CHECKS.get(type)?.(payload);
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
const KEPT = [
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
  const kept = KEPT.filter((name) => payload[name] !== undefined);
  return { ...Object.fromEntries(kept.map((name) => [name, payload[name]])), payload_ref: ref };
}
