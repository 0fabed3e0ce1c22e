import { lookup } from 'mrmime';
import { checkBoolean, only } from '../../base/check-value.ts';
import { exists, invalid, notFound } from '../../base/errors.ts';
import { checkLine, kindOf } from '../../base/text.ts';
import type { BlobSource } from '../../engine/engine.ts';
import { holdBlobs } from '../events/hold-blobs.ts';
import { BRANCHES_MAX, ID_CHARS_MAX, TITLE_CHARS_MAX, NAME_CHARS_MAX } from '../events/limits.ts';
import { metaChange } from '../events/meta.ts';
import { checkId, newId } from '../events/names.ts';
import { MAIN_BRANCH } from '../events/payloads.ts';
import type { ChatView } from '../handle/chat-view.ts';
import { assertWritable, type ChatHandle } from '../handle/chat-writer.ts';
import type { Chat } from '../handle/chats.ts';
import { toInfo } from '../handle/info.ts';
import { attachmentOf } from '../projections/message-part.ts';
import { toAttachment } from '../projections/message.ts';
import { mustFind } from './check-message.ts';

type ChangeVerbs = Pick<Chat, 'edit' | 'fork' | 'update'>;

export function changeVerbs({ home, view, writer }: ChatHandle): ChangeVerbs {
  return {
    async edit(message, content) {
      const message_id = checkId(message, 'message');
      if (typeof content !== 'string')
        throw invalid('content', `must be a string, got ${kindOf(content)}`);
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

    async update({ title, pinned }) {
      if (title !== undefined) checkLine(title, 'title', TITLE_CHARS_MAX);
      if (pinned !== undefined) checkBoolean(pinned, 'pinned');
      return view.run(async ({ stored, events, bytes }) => {
        const meta = {
          ...stored.meta,
          ...(title !== undefined && { title }),
          ...(pinned !== undefined && { pinned }),
          updated_at: new Date(home.clock()).toISOString(),
        };
        await home.engine.commit({ docs: [metaChange(meta, stored.version)] });
        return toInfo(meta, { events, bytes });
      });
    },
  };
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
export function attachVerb({ home, view, writer }: ChatHandle): Pick<Chat, 'attach'> {
  const { engine, clock } = home;
  return {
    async attach(source, options) {
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
      const { hash, size } = await engine.putBlob(toSource(source));
      const payload = {
        [artifact ? 'artifact_id' : 'attachment_id']: newId(clock()),
        ...(call !== undefined && { call_id: call }),
        ...(message !== undefined && { message_id: message }),
        name: options.name,
        media_type: mediaType,
        hash,
        size,
      };
      const events = await holdBlobs(engine, [hash], clock(), async () => {
        // The blob may have been collected before it was held.
        if (!(await engine.hasBlob(hash))) {
          const id = hash;
          throw notFound('blob', id, `blob ${id} was collected meanwhile; attach it again`);
        }
        return writer.append([{ type: artifact ? 'artifact_added' : 'attachment_added', payload }]);
      });
      return toAttachment(attachmentOf(only(events)));
    },
  };
}

function toSource(source: Uint8Array | AsyncIterable<Uint8Array>): BlobSource {
  return { chunks: source instanceof Uint8Array ? toPieces(source) : source };
}

async function* toPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  // The caller keeps its array and may write to it before the bytes reach the disk.
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.slice(at, at + PIECE_BYTES);
}
