import { checkLine } from '../../base/check-text.ts';
import { QuipuError, invalid } from '../../base/errors.ts';
import type { BlobSource } from '../../engine/engine.ts';
import type { ChatHandle } from '../chat-handle.ts';
import { assertWritable } from '../events/chat-writer.ts';
import type { AttachOptions, Chat } from '../chats.ts';
import { holdBlobs } from '../retention/hold-blobs.ts';
import { NAME_CHARS_MAX } from '../limits.ts';
import { checkId, newId } from '../names.ts';
import { attachmentOf } from '../projections/message-part.ts';
import { toAttachment } from '../projections/message.ts';
import { mustFind, only } from './check-message.ts';

const PIECE_BYTES = 1_048_576;
const ANY_TYPE = 'application/octet-stream';

/** Bytes of any length go to a blob; the chat has its name, hash and size. */
export function attachVerb({ world, view, writer, assertOpen }: ChatHandle): Pick<Chat, 'attach'> {
  const { engine, clock } = world;
  return {
    async attach(source, options: AttachOptions) {
      assertOpen('chat.attach');
      const { mediaType = ANY_TYPE, message } = options;
      if (checkLine(options.name, 'name', NAME_CHARS_MAX) === '') throw invalid('name', 'is empty');
      checkLine(mediaType, 'mediaType', NAME_CHARS_MAX);
      if (message !== undefined) checkId(message, 'message');
      await view.run(async (now) => {
        assertWritable(now);
        if (message !== undefined) await mustFind(now, message);
      });
      const { hash, size } = await engine.putBlob(toSource(source));
      const payload = {
        attachment_id: newId(clock()),
        ...(message !== undefined && { message_id: message }),
        name: options.name,
        media_type: mediaType,
        hash,
        size,
      };
      const [event] = await holdBlobs(engine, [hash], clock(), async () => {
        // The blob may have been collected before it was held.
        if (!(await engine.hasBlob(hash))) {
          const id = hash;
          throw new QuipuError('NOT_FOUND', `blob ${id} was collected meanwhile; attach it again`, {
            what: 'blob',
            id,
          });
        }
        return writer.append([{ type: 'attachment_added', payload }]);
      });
      return toAttachment(attachmentOf(only(event)));
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
