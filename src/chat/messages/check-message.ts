import { QuipuError, exists, invalid, notFound } from '../../base/errors.ts';
import { checkBoolean } from '../../base/check-value.ts';
import { checkLine, shown } from '../../base/text.ts';
import type { JsonObject } from '../events/event.ts';
import { ROLE_CHARS_MAX, TITLE_CHARS_MAX } from '../events/limits.ts';
import { checkId, newId } from '../events/names.ts';
import { MAIN_BRANCH } from '../events/payloads.ts';
import type { ChatView } from '../handle/chat-view.ts';
import type { Completion, NewMessage } from '../handle/chats.ts';
import type { MessagePart } from '../projections/message-part.ts';
import { findPart, noBranch } from './find-messages.ts';

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
    ...ofCompletion({ ...(model !== undefined && { model }), ...(usage && { usage }) }),
  };
}

/** The facts about a message that are known once a model has completed it. */
export function ofCompletion({ model, usage, interrupted }: Completion): JsonObject {
  const { inputTokens, outputTokens } = usage ?? {};
  for (const amount of [inputTokens, outputTokens]) {
    if (amount === undefined || (Number.isSafeInteger(amount) && amount >= 0)) continue;
    throw invalid('usage', `must be a number of tokens from 0, got ${shown(amount)}`);
  }
  return {
    ...(model !== undefined && { model: checkLine(model, 'model', TITLE_CHARS_MAX) }),
    ...(usage !== undefined && {
      usage: {
        ...(inputTokens !== undefined && { input_tokens: inputTokens }),
        ...(outputTokens !== undefined && { output_tokens: outputTokens }),
      },
    }),
    ...(interrupted !== undefined && checkBoolean(interrupted, 'interrupted') && { interrupted }),
  };
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
    throw exists(
      'message',
      message_id,
      `the chat has a message ${message_id} already; choose another id`,
    );
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
  const message = `chat ${view.id} has ${view.events} events, not ${expected}; read on and try again`;
  throw new QuipuError('HEAD_MOVED', message, {
    context: view.id,
    expected: String(expected),
    head: String(view.events),
  });
}

/** A branch to read, or `*` for all of them. */
export function checkBranch(branch: unknown): string {
  return branch === '*' ? branch : checkId(branch, 'branch');
}
