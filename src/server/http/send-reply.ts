import { promisify } from 'node:util';
import zlib from 'node:zlib';
import type { IncomingMessage } from 'node:http';
import type { Reply } from './route.ts';

/** Less is not worth the time. */
const COMPRESS_FROM_BYTES = 1024;

type Squeeze = (bytes: Uint8Array) => Promise<Uint8Array>;

/** What this Node can compress with, best first. */
const CODINGS: readonly (readonly [name: string, squeeze: Squeeze])[] = [
  ...builtinZstd(zlib),
  ['gzip', promisify<Uint8Array, Buffer>(zlib.gzip)],
];

/** What a client gets for a reply; `incoming` is cut off when the body cannot be completed. */
export async function toResponse(
  reply: Reply,
  incoming: IncomingMessage,
  onBroken: (error: unknown) => void,
): Promise<Response> {
  const { status = 200, headers: given = {}, type = 'application/json', body } = reply;
  const headers = new Headers({ 'X-Content-Type-Options': 'nosniff', ...given });
  if (body !== undefined) headers.set('Content-Type', type);
  if (typeof body === 'string') {
    return textResponse(body, incoming.headers['accept-encoding'] ?? '', { status, headers });
  }
  if (body === undefined || body instanceof Uint8Array) {
    return new Response(body, { status, headers });
  }
  return new Response(toStream(body, incoming, onBroken), { status, headers });
}

async function textResponse(
  text: string,
  accepted: string,
  init: { status: number; headers: Headers },
): Promise<Response> {
  const bytes = Buffer.from(text);
  const coding = bytes.length < COMPRESS_FROM_BYTES ? undefined : chooseCoding(accepted);
  init.headers.append('Vary', 'Accept-Encoding');
  if (coding === undefined) return new Response(bytes, init);
  const [name, squeeze] = coding;
  init.headers.set('Content-Encoding', name);
  return new Response(await squeeze(bytes), init);
}

function chooseCoding(accepted: string): (typeof CODINGS)[number] | undefined {
  const names = accepted
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .filter((part) => !/;\s*q=0(?:\.0*)?$/.test(part))
    .map((part) => part.split(';')[0]);
  return CODINGS.find(([name]) => names.includes(name));
}

/** `node:zlib` has zstd from Node 22.15 on; the types of Node 20 do not know it. */
function builtinZstd(from: object): [string, Squeeze][] {
  if (!('zstdCompress' in from)) return [];
  const { zstdCompress } = from as { zstdCompress: typeof zlib.gzip };
  return [['zstd', promisify<Uint8Array, Buffer>(zstdCompress)]];
}

/**
 * One piece at a time, when the socket has room. A body that fails half way must not look complete, so
 * the connection goes with it.
 */
function toStream(
  pieces: AsyncIterable<Uint8Array>,
  incoming: IncomingMessage,
  onBroken: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const next = await iterator.next();
          if (next.done === true) controller.close();
          else controller.enqueue(next.value);
        } catch (error) {
          onBroken(error);
          incoming.socket.destroy();
          controller.close();
        }
      },
      cancel() {
        // The source may be waiting for something that never comes; its signal has been aborted.
        void iterator.return?.().catch(() => undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
