import { QuipuError } from '../../base/errors.ts';
import { encodeError } from '../../wire/error-message.ts';
import { FRAME_PAYLOAD_MAX } from '../../wire/limits.ts';
import { MessageType } from '../../wire/message-type.ts';
import type { ReadyReply } from './reply-queue.ts';
import type { Reply } from '../request/request.ts';
import { type FrameFields, toFrame } from '../../wire/to-frame.ts';
import { toWireError, tooMuch } from '../request/wire-error.ts';

/** TOO_LARGE for a reply that does not fit a frame. */
export function successReply(fields: FrameFields, { parts, sent }: Reply): ReadyReply {
  return { frame: toFrame(fields, parts), code: 0, sent };
}

export function failureReply(reqId: Buffer, error: unknown, knowsQuipu: boolean): ReadyReply {
  const message = toWireError(error, knowsQuipu);
  const fields = { type: MessageType.ERROR, flags: 0, reqId };
  return { frame: toFrame(fields, encodeError(message)), code: message.code };
}

/** The error for a frame over a limit that depends on its sender and on the moment. */
export function oversizedError(length: number, limit: number, isKnown: boolean): QuipuError {
  if (isKnown && length <= FRAME_PAYLOAD_MAX) {
    return tooMuch('the server holds too many large requests; try again');
  }
  const message = `a frame of ${length} bytes is over the limit of ${limit}`;
  return new QuipuError('TOO_LARGE', message, { what: 'frame', limit, size: length });
}
