import type { IncomingMessage } from 'node:http';
import { QuipuError, invalid, tooLarge, unsupported } from '../../../base/errors.ts';
import { decodeUtf8 } from '../../../base/text.ts';
import { checkJsonBounds } from '../../../wire/call-values.ts';
import { tooMuch } from '../../request/request.ts';
import type { HttpRequest } from './route.ts';

/** The server takes bodies up to this size even when it holds too much already. */
const SMALL_BODY_BYTES = 1024 * 1024;
/** A body that is stored as it comes in holds at most this, with its chunks and what is being written. */
const UPLOAD_BYTES = 1024 * 1024;

/**
 * Reads the whole body, if it is no longer than `limit`. A body that declares a greater length is not read at all. The
 * body counts against the budget of the server until the request is over.
 */
export async function readBody(
  { incoming, service: { budget }, signal }: HttpRequest,
  limit: number,
): Promise<Uint8Array> {
  const declared = Number(incoming.headers['content-length'] ?? 0);
  if (declared > limit) throw bodyTooLarge(limit, declared);
  const pieces: Uint8Array[] = [];
  let size = 0;
  signal.addEventListener('abort', () => budget.add(-size), { once: true });
  for await (const piece of readPieces(incoming)) {
    // The request is over: its bytes no longer count.
    if (signal.aborted) throw gone();
    size += piece.length;
    budget.add(piece.length);
    if (size > limit) throw bodyTooLarge(limit, size);
    if (size > SMALL_BODY_BYTES && budget.isSpent) throw tooManyLarge();
    pieces.push(piece);
  }
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces, size);
}

/**
 * The body as it comes in, for who stores it that way. It counts against the budget of the server with what it holds
 * at most, until the request is over.
 */
export async function* readUpload({
  incoming,
  service: { budget },
  signal,
}: HttpRequest): AsyncGenerator<Uint8Array, void, undefined> {
  let held = 0;
  signal.addEventListener('abort', () => budget.add(-held), { once: true });
  for await (const piece of readPieces(incoming)) {
    if (signal.aborted) throw gone();
    const more = Math.min(piece.length, UPLOAD_BYTES - held);
    held += more;
    budget.add(more);
    if (more > 0 && held === UPLOAD_BYTES && budget.isSpent) throw tooManyLarge();
    yield piece;
  }
}

/** The body as it comes in. If the client goes away in the middle, this throws CLOSED and does not end. */
async function* readPieces(incoming: IncomingMessage): AsyncGenerator<Uint8Array, void, undefined> {
  const { 'content-encoding': coding = 'identity' } = incoming.headers;
  if (coding.toLowerCase() !== 'identity') {
    // Stored as they are, the bytes would not be what the client means.
    const message = 'bodies are taken as they are; send this one without Content-Encoding';
    throw unsupported('Content-Encoding', coding.slice(0, 64), message);
  }
  try {
    // A reader that stops early still has an answer to send, and destroying the request would destroy the answer, too.
    const pieces = incoming.iterator({ destroyOnReturn: false });
    for await (const piece of pieces) yield piece as Uint8Array;
  } catch (error) {
    throw gone(error);
  }
}

function tooManyLarge(): QuipuError<'UNAVAILABLE'> {
  return tooMuch('the server holds too many large requests; try again');
}

function gone(cause?: unknown): QuipuError<'CLOSED'> {
  const message = 'the client went away before its request was complete';
  return new QuipuError('CLOSED', message, { what: 'request' }, { cause });
}

/** Refuses JSON that would take far more memory than it has bytes, before it is parsed. */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  checkJsonBounds(text);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw invalid('body', 'is not JSON');
  }
}

function bodyTooLarge(limit: number, size: number): QuipuError<'TOO_LARGE'> {
  const message = `the body has ${size} bytes or more, and ${limit} is the limit`;
  return tooLarge('body', limit, size, message);
}
