import { lookup } from 'mrmime';
import { checkBoolean, only } from '../../base/check-value.ts';
import { exists, invalid, notFound } from '../../base/errors.ts';
import { isFields } from '../../base/fields.ts';
import { given } from '../../base/given.ts';
import { checkLine, checkString } from '../../base/text.ts';
import { holdBlobs, metaChange } from '../events/documents.ts';
import type { ChatEvent, NewEvent } from '../events/event.ts';
import { BRANCHES_MAX, ID_CHARS_MAX, NAME_CHARS_MAX, TITLE_CHARS_MAX } from '../events/limits.ts';
import { checkId, newId } from '../events/names.ts';
import { MAIN_BRANCH } from '../events/payloads.ts';
import type { ChatView } from '../handle/chat-view.ts';
import { assertWritable, type ChatHandle } from '../handle/chat-writer.ts';
import type { AppendOptions, AttachOptions, Chat, ChatInfo, NewMessage } from '../handle/chats.ts';
import { toInfo } from '../handle/info.ts';
import {
  attachmentOf,
  partOf,
  toAttachment,
  type Attachment,
  type ChatMessage,
} from '../projections/message-part.ts';
import {
  assertCanBegin,
  assertExpected,
  loadMessage,
  mustFind,
  toPayload,
} from './find-messages.ts';

type WriteVerbs = Pick<
  Chat,
  'append' | 'add' | 'edit' | 'fork' | 'update' | 'attach' | 'callTool' | 'returnTool'
>;

export function writeVerbs(handle: ChatHandle): WriteVerbs {
  const { home, writer } = handle;
  return {
    async append(events, options = {}) {
      const list = Array.isArray(events) ? (events as readonly NewEvent[]) : [events as NewEvent];
      if (list.length === 0) throw invalid('events', 'is empty');
      const { expectedSeq } = options;
      if (expectedSeq === undefined) return writer.append(list);
      return writer.decide((now) => {
        assertExpected(now, expectedSeq);
        return list;
      });
    },

    add: async (message, options = {}) => add(handle, message, options),

    async edit(message, content) {
      const message_id = checkId(message, 'message');
      checkString(content, 'content');
      const events = await writer.decide(async (now) => {
        const part = await mustFind(now, message_id);
        if (part.redacted !== undefined) {
          throw invalid('message', `${message_id} is redacted, and what it says stays hidden`);
        }
        return [{ type: 'message_edited', payload: { message_id, content } }];
      });
      return only(events);
    },

    async fork(message, options = {}) {
      const parent_message_id = checkId(message, 'message');
      const { branch = newId(home.clock()), before = false } = options;
      checkBoolean(before, 'before');
      const new_thread_id = checkId(branch, 'branch');
      await writer.decide(async (now) => {
        await mustFind(now, parent_message_id);
        assertNewBranch(now, new_thread_id);
        const where = { new_thread_id, parent_message_id, ...(before && { before }) };
        return [{ type: 'thread_forked', payload: where }];
      });
      return new_thread_id;
    },

    async callTool(call) {
      const { name, message, id = newId(home.clock()) } = call;
      const call_id = checkCall(id);
      if (checkLine(name, 'name', NAME_CHARS_MAX) === '') throw invalid('name', 'is empty');
      const { arguments: given } = call;
      const payload = { call_id, name, ...(given !== undefined && { arguments: given }) };
      await note(handle, { type: 'tool_called', payload }, message);
      return call_id;
    },

    async returnTool(call, returned) {
      const call_id = checkCall(call);
      if (!isFields(returned) || 'result' in returned === 'error' in returned) {
        throw invalid('result', 'must be an object with a "result", or with an "error"');
      }
      const { message, ...said } = returned;
      if ('error' in said) checkString(said.error, 'error');
      return note(handle, { type: 'tool_returned', payload: { call_id, ...said } }, message);
    },

    update: async (change) => update(handle, change),
    attach: async (source, options) => attach(handle, source, options),
  };
}

function checkCall(id: unknown): string {
  const call = checkLine(id, 'call', ID_CHARS_MAX);
  if (call === '') throw invalid('call', 'is empty');
  return call;
}

async function add(
  { home, writer }: ChatHandle,
  message: NewMessage,
  { expectedSeq }: AppendOptions,
): Promise<ChatMessage> {
  const payload = toPayload(message, home.clock());
  const content = checkString(message.content, 'content');
  const added = await writer.decide(async (now) => {
    assertExpected(now, expectedSeq);
    await assertCanBegin(now, payload, message);
    return [{ type: 'message_added', payload: { ...payload, content } }];
  });
  const part = partOf(only(added));
  if (part === undefined) throw new TypeError('a message was added that is none');
  return loadMessage(home.engine, part);
}

/** Appends an event that may be about a message. */
async function note(
  { writer }: ChatHandle,
  { type, payload }: NewEvent,
  message?: string,
): Promise<ChatEvent> {
  const message_id = message === undefined ? undefined : checkId(message, 'message');
  const events = await writer.decide(async (view) => {
    if (message_id === undefined) return [{ type, payload }];
    await mustFind(view, message_id);
    return [{ type, payload: { ...payload, message_id } }];
  });
  return only(events);
}

async function update(
  { home, view }: ChatHandle,
  { title, pinned }: Parameters<Chat['update']>[0],
): Promise<ChatInfo> {
  if (title !== undefined) checkLine(title, 'title', TITLE_CHARS_MAX);
  if (pinned !== undefined) checkBoolean(pinned, 'pinned');
  return view.run(async ({ stored, events, bytes }) => {
    const updated_at = new Date(home.clock()).toISOString();
    const meta = { ...stored.meta, ...given({ title, pinned }), updated_at };
    await home.engine.commit({ docs: [metaChange(meta, stored.version)] });
    return toInfo(meta, { events, bytes });
  });
}

function assertNewBranch({ overview: { branches } }: ChatView, id: string): void {
  if (id === MAIN_BRANCH || branches.some((branch) => branch.id === id)) {
    throw exists('branch', id, `the chat has a branch ${id} already; choose another name`);
  }
  if (branches.length < BRANCHES_MAX) return;
  throw invalid('branch', `is one too many: a chat has at most ${BRANCHES_MAX} branches`);
}

const PIECE_BYTES = 1_048_576;
const ANY_TYPE = 'application/octet-stream';

/** Bytes of any length go to a blob; the chat has its name, hash and size. */
async function attach(
  { home: { engine, clock }, view, writer }: ChatHandle,
  source: Uint8Array | AsyncIterable<Uint8Array>,
  options: AttachOptions,
): Promise<Attachment> {
  const { message, artifact = false, call } = options;
  if (checkLine(options.name, 'name', NAME_CHARS_MAX) === '') throw invalid('name', 'is empty');
  const mediaType = options.mediaType ?? lookup(options.name) ?? ANY_TYPE;
  checkLine(mediaType, 'mediaType', NAME_CHARS_MAX);
  checkBoolean(artifact, 'artifact');
  if (call !== undefined && !artifact) throw invalid('call', 'is for artifacts only');
  if (call !== undefined) checkLine(call, 'call', ID_CHARS_MAX);
  if (message !== undefined) checkId(message, 'message');
  await view.run(async (now) => {
    assertWritable(now);
    if (message !== undefined) await mustFind(now, message);
  });
  const chunks = source instanceof Uint8Array ? toPieces(source) : source;
  const { hash, size } = await engine.putBlob({ chunks });
  const payload = {
    [artifact ? 'artifact_id' : 'attachment_id']: newId(clock()),
    ...given({ call_id: call, message_id: message }),
    name: options.name,
    media_type: mediaType,
    hash,
    size,
  };
  const events = await holdBlobs(engine, [hash], clock(), async () => {
    // The blob may have been collected before it was held.
    if (!(await engine.hasBlob(hash))) {
      throw notFound('blob', hash, `blob ${hash} was collected meanwhile; attach it again`);
    }
    return writer.append([{ type: artifact ? 'artifact_added' : 'attachment_added', payload }]);
  });
  return toAttachment(attachmentOf(only(events)));
}

async function* toPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  // The caller keeps its array and may write to it before the bytes reach the disk.
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.slice(at, at + PIECE_BYTES);
}
