import { parseBoundedJson } from '../../base/bounded-json.ts';
import { checkBoolean, checkWhole } from '../../base/check-value.ts';
import { QuipuError, exists, invalid, isQuipuError, notFound } from '../../base/errors.ts';
import { isFields } from '../../base/fields.ts';
import { given } from '../../base/given.ts';
import { checkLine, shown } from '../../base/text.ts';
import type { Engine } from '../../engine/engine.ts';
import { mustRead } from '../events/chat-lines.ts';
import { type ChatEvent, type JsonObject, type PayloadRef } from '../events/event.ts';
import {
  PAGE_MESSAGES_DEFAULT,
  PAGE_MESSAGES_MAX,
  ROLE_CHARS_MAX,
  TITLE_CHARS_MAX,
} from '../events/limits.ts';
import { checkId, newId } from '../events/names.ts';
import { MAIN_BRANCH, refOf } from '../events/payloads.ts';
import type { ChatView } from '../handle/chat-view.ts';
import type { Completion, MessageQuery, NewMessage } from '../handle/chats.ts';
import {
  mergeParts,
  type MessagePart,
  type MessageParts,
  type Text,
  textsOf,
  toMessage,
  type ChatMessage,
} from '../projections/message-part.ts';
import { SEGMENT_EVENTS } from '../segments/segment-line.ts';

// This module reads from the end: it knows the later changes of a message before it meets the message.

type Visible = (part: MessagePart) => boolean;

/** Returns one message as the whole chat has it. Call this within `view.run`. */
export async function findPart(view: ChatView, id: string): Promise<MessagePart | undefined> {
  const { begun, touched } = await view.tail();
  const here = begun.find((part) => part.id === id);
  if (here !== undefined) return here;
  const found = await view.segments.find(id);
  if (found === undefined) return undefined;
  let { part } = found;
  for (let segment = found.segment + 1; segment < view.segments.count; segment += 1) {
    part = withTouch(part, await view.segments.touchedIn(segment));
  }
  return withTouch(part, touched);
}

function withTouch(part: MessagePart, touches: readonly MessagePart[]): MessagePart {
  const touch = touches.find(({ id }) => id === part.id);
  return touch === undefined ? part : mergeParts(part, touch);
}

/** Yields messages from the newest to the oldest. Call this within `view.run`. */
export async function* walkBack(
  view: ChatView,
  { isVisible, before }: { readonly isVisible: Visible; readonly before: number },
): AsyncGenerator<MessagePart, void, undefined> {
  const later: MessageParts = new Map();
  const { begun, touched } = await view.tail();
  yield* select(begun);
  note(later, touched);
  for (let segment = view.segments.count - 1; segment >= 0; segment -= 1) {
    if (segment * SEGMENT_EVENTS + 1 < before) yield* select(await view.segments.begunIn(segment));
    note(later, await view.segments.touchedIn(segment));
  }

  function* select(parts: readonly MessagePart[]): Generator<MessagePart, void, undefined> {
    for (const part of parts.toReversed()) {
      if (part.first >= before || !isVisible(part)) continue;
      const touch = later.get(part.id);
      yield touch === undefined ? part : mergeParts(part, touch);
    }
  }
}

/** `touches` are older than the changes known so far. */
function note(later: MessageParts, touches: readonly MessagePart[]): void {
  for (const touch of touches) {
    const known = later.get(touch.id);
    later.set(touch.id, known === undefined ? touch : mergeParts(touch, known));
  }
}

/** Edits and redactions of messages that never began. */
export async function lonelyTouches(view: ChatView): Promise<MessagePart[]> {
  const later: MessageParts = new Map();
  const { begun, touched } = await view.tail();
  note(later, touched);
  for (let segment = view.segments.count - 1; segment >= 0; segment -= 1) {
    note(later, await view.segments.touchedIn(segment));
  }
  for (const { id } of begun) later.delete(id);
  const lonely: MessagePart[] = [];
  for (const part of later.values()) {
    if (!(await view.segments.isBegun(part.id))) lonely.push(part);
  }
  return lonely;
}

/** Returns a test for the messages that a branch shows: its own, and those before the message it was forked from. */
export async function visibleIn(view: ChatView, branch: string): Promise<Visible> {
  if (branch === '*') return () => true;
  /** The last event that counts of each branch. */
  const limits = new Map<string, number>();
  const isVisible: Visible = ({ thread, first }) =>
    first <= (limits.get(thread === '' ? MAIN_BRANCH : thread) ?? -1);
  let [name, upTo] = [branch, Infinity];
  while (name !== MAIN_BRANCH && !limits.has(name)) {
    limits.set(name, upTo);
    const fork = view.overview.branches.find(({ id }) => id === name);
    if (fork === undefined) {
      if (name === branch) throw noBranch(branch);
      // Messages may name a branch that was never forked: such a branch begins empty.
      return isVisible;
    }
    const parent = await findPart(view, fork.parentMessage);
    // The branch was forked from an unknown message: it shows what the main branch had by then.
    name = parent === undefined || parent.thread === '' ? MAIN_BRANCH : parent.thread;
    upTo = parent === undefined ? fork.seq : parent.first - (fork.before === true ? 1 : 0);
  }
  limits.set(MAIN_BRANCH, upTo);
  return isVisible;
}

function noBranch(id: string): QuipuError<'NOT_FOUND'> {
  return notFound('branch', id, `the chat has no branch ${id}`);
}

function sizeOf(text: Text): number {
  return typeof text === 'string' ? text.length : text.size;
}

/** Loads a message with its text, wherever the text is, unless the text is longer than `maxContent`. */
export async function loadMessage(
  engine: Engine,
  part: MessagePart,
  maxContent: number = Infinity,
): Promise<ChatMessage> {
  const size = textsOf(part).reduce((sum, text) => sum + sizeOf(text), 0);
  if (size > maxContent) return { ...toMessage(part, ''), unread: size };
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
    return isFields(value) ? value : undefined;
  } catch (error) {
    // SyntaxError, INVALID: the log names a blob that is something else.
    if (error instanceof SyntaxError) return undefined;
    if (isQuipuError(error) && ['NOT_FOUND', 'CORRUPT', 'INVALID'].includes(error.code)) {
      return undefined;
    }
    throw error;
  }
}

/** The payload of a message without its text. */
export function toPayload(
  { role, branch, id, model, usage }: Omit<NewMessage, 'content'>,
  nowMs: number,
): JsonObject & { readonly message_id: string } {
  if (checkLine(role, 'role', ROLE_CHARS_MAX) === '') throw invalid('role', 'is empty');
  const isMain = branch === undefined || branch === MAIN_BRANCH;
  return {
    message_id: id === undefined ? newId(nowMs) : checkId(id, 'id'),
    role,
    ...(!isMain && { thread_id: checkId(branch, 'branch') }),
    ...ofCompletion(given({ model, usage })),
  };
}

/** The facts about a message that are known once a model has completed it. */
export function ofCompletion({ model, usage, interrupted }: Completion): JsonObject {
  const { inputTokens, outputTokens } = usage ?? {};
  for (const amount of [inputTokens, outputTokens]) {
    if (amount === undefined || (Number.isSafeInteger(amount) && amount >= 0)) continue;
    throw invalid('usage', `must be a number of tokens from 0, got ${shown(amount)}`);
  }
  return given({
    model: model === undefined ? undefined : checkLine(model, 'model', TITLE_CHARS_MAX),
    usage: usage && given({ input_tokens: inputTokens, output_tokens: outputTokens }),
    interrupted:
      (interrupted !== undefined && checkBoolean(interrupted, 'interrupted')) || undefined,
  });
}

export async function assertCanBegin(
  view: ChatView,
  { message_id }: { readonly message_id: string },
  { id, branch = MAIN_BRANCH }: Pick<NewMessage, 'id' | 'branch'>,
): Promise<void> {
  if (branch !== MAIN_BRANCH && !view.overview.branches.some((known) => known.id === branch)) {
    throw noBranch(branch);
  }
  // An id that was made here is new.
  if (id !== undefined && (await findPart(view, message_id)) !== undefined) {
    const message = `the chat has a message ${message_id} already; choose another id`;
    throw exists('message', message_id, message);
  }
}

/** Call this within `view.run`. */
export async function mustFind(view: ChatView, id: string): Promise<MessagePart> {
  const part = await findPart(view, id);
  if (part !== undefined) return part;
  throw notFound('message', id, `the chat has no message ${id}`);
}

export function assertExpected(view: ChatView, expected: number | undefined): void {
  if (expected === undefined || expected === view.events) return;
  const { id: context, events: head } = view;
  const message = `chat ${context} has ${head} events, not ${expected}; read on and try again`;
  const data = { context, expected: String(expected), head: String(head) };
  throw new QuipuError('HEAD_MOVED', message, data);
}

/** Checks what a page is asked for with, and fills in the rest. */
export function checkPage(
  { before = Infinity, limit = PAGE_MESSAGES_DEFAULT, maxContent = Infinity }: MessageQuery,
  limitMin = 0,
): { before: number; limit: number; maxContent: number } {
  checkWhole(limit, 'limit', limitMin, PAGE_MESSAGES_MAX);
  for (const [what, value] of Object.entries({ before, maxContent })) {
    if (value !== Infinity) checkWhole(value, what, 0, Number.MAX_SAFE_INTEGER);
  }
  return { before, limit, maxContent };
}

/** A branch to read, or `*` for all of them. */
export function checkBranch(branch: unknown): string {
  return branch === '*' ? branch : checkId(branch, 'branch');
}
