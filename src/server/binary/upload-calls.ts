import { invalid } from '../../base/errors.ts';
import { hexOf } from '../../base/hex.ts';
import { toCall } from '../../wire/call-values.ts';
import { encodeCallReply } from '../../wire/call.ts';
import { REQUEST_ID_BYTES } from '../../wire/frame.ts';
import type { Job, Session } from '../request/request.ts';
import { missing } from '../request/wire-ids.ts';
import { Upload } from './upload.ts';

// The two methods that belong to the protocol. A body travels in pieces, and each piece is a CALL of its own. A piece
// changes its upload when the piece is read, so pieces keep their order whatever other requests run.

export function planUploadPiece(args: readonly unknown[], session: Session): Job {
  const [id, piece] = args;
  if (!(piece instanceof Uint8Array)) throw invalid('upload.piece', 'is given bytes');
  const { upload } = findUpload(id, session);
  return answerWith(upload.push(piece), 'free');
}

export function planUploadEnd(args: readonly unknown[], session: Session): Job {
  const { upload, reqId } = findUpload(args[0], session);
  session.tasks.end(reqId, upload);
  return answerWith(upload.end(), 'write');
}

function findUpload(id: unknown, session: Session): { upload: Upload; reqId: Uint8Array } {
  if (!(id instanceof Uint8Array) || id.length !== REQUEST_ID_BYTES) {
    throw invalid('upload', 'is the request id that began it, as 8 bytes');
  }
  const upload = session.tasks.get(id);
  if (upload instanceof Upload) return { upload, reqId: id };
  throw missing('upload', hexOf(id));
}

function answerWith(result: Promise<unknown>, order: Job['order']): Job {
  // The result may fail before anyone waits for it.
  result.catch(() => undefined);
  return { order, run: async () => ({ parts: encodeCallReply(toCall(await result)) }) };
}
