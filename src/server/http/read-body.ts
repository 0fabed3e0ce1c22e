import type { IncomingMessage } from 'node:http';
import { QuipuError, invalid } from '../../base/errors.ts';
import { decodeUtf8 } from '../../base/utf8.ts';
import { checkJsonBounds } from '../../wire/json-bounds.ts';

/** The whole body, if it is no longer than `limit`; one that says it is longer is not read at all. */
export async function readBody(incoming: IncomingMessage, limit: number): Promise<Uint8Array> {
  const declared = Number(incoming.headers['content-length'] ?? 0);
  if (declared > limit) throw tooLarge(limit, declared);
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of readPieces(incoming)) {
    size += piece.length;
    if (size > limit) throw tooLarge(limit, size);
    pieces.push(piece);
  }
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces, size);
}

/** The body as it comes in. A client that goes away in the middle is CLOSED, not the end. */
export async function* readPieces(
  incoming: IncomingMessage,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    // Whoever stops reading still has an answer coming, which a destroyed request would take along.
    const pieces = incoming.iterator({ destroyOnReturn: false });
    for await (const piece of pieces) yield piece as Uint8Array;
  } catch (error) {
    throw new QuipuError(
      'CLOSED',
      'the client went away before its request was complete',
      { what: 'request' },
      { cause: error },
    );
  }
}

/** Refuses JSON that takes far more memory than bytes before it is parsed. */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  checkJsonBounds(text);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw invalid('body', 'is not JSON');
  }
}

function tooLarge(limit: number, size: number): QuipuError<'TOO_LARGE'> {
  return new QuipuError(
    'TOO_LARGE',
    `the body has ${size} bytes or more, and ${limit} is the limit`,
    {
      what: 'body',
      limit,
      size,
    },
  );
}
