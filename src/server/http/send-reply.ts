import zlib from 'node:zlib';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable, pipeline } from 'node:stream';
import type { Transform } from 'node:stream';
import { promisify } from 'node:util';
import type { Pace } from './exchange/answer-room.ts';
import { PART_BYTES } from './exchange/answer-room.ts';
import type { Reply } from './exchange/route.ts';

/** The compressions that this Node offers, best first. */
const CODINGS: readonly Coding[] = [
  ...builtinZstd(zlib),
  {
    name: 'gzip',
    whole: promisify<Uint8Array, Buffer>(zlib.gzip),
    stream: () => zlib.createGzip(),
  },
];

/** Compressing fewer bytes is not worth the time. */
const COMPRESS_FROM_BYTES = 1024;
const JSON_TYPE = 'application/json';

type Headers = Record<string, string>;
type Body = Uint8Array | AsyncIterable<Uint8Array>;

/** Resolves when the client has the answer, or is gone. Rejects when the body cannot be completed. */
export async function sendReply(
  reply: Reply,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  pace: Pace,
): Promise<void> {
  const { status = 200, type = JSON_TYPE } = reply;
  const headers: Headers = { 'X-Content-Type-Options': 'nosniff', ...reply.headers };
  const body = await encodeBody(reply, incoming.headers['accept-encoding'] ?? '', headers);
  if (body !== undefined) headers['Content-Type'] = type;
  if (isWhole(body)) headers['Content-Length'] ??= String(body.length);
  else if (body === undefined && status >= 200 && status !== 204 && status !== 304) {
    headers['Content-Length'] ??= '0';
  }
  if (!outgoing.destroyed) outgoing.writeHead(status, headers);
  if (body === undefined || incoming.method === 'HEAD') outgoing.end();
  else if (isWhole(body) && body.length <= PART_BYTES) outgoing.end(body);
  else await writeBody(isWhole(body) ? only(body) : body, outgoing, pace);
}

/** Compresses the body if the client accepts that, and says so in the headers. */
async function encodeBody(
  { body, type = JSON_TYPE }: Reply,
  accepted: string,
  headers: Headers,
): Promise<Body | undefined> {
  const isPieces = typeof body === 'object' && !(body instanceof Uint8Array);
  if (typeof body !== 'string' && !(isPieces && type === JSON_TYPE)) return body;
  const vary = headers['Vary'];
  headers['Vary'] = vary === undefined ? 'Accept-Encoding' : `${vary}, Accept-Encoding`;
  const bytes = isPieces ? undefined : Buffer.from(body);
  const isShort = bytes !== undefined && bytes.length < COMPRESS_FROM_BYTES;
  const coding = isShort ? undefined : chooseCoding(accepted);
  if (coding === undefined) return bytes ?? (body as AsyncIterable<Uint8Array>);
  headers['Content-Encoding'] = coding.name;
  return isPieces ? compressed(body, coding) : coding.whole(bytes as Uint8Array);
}

/** Asks for the next piece when the last one has left. */
async function writeBody(
  pieces: AsyncIterable<Uint8Array>,
  outgoing: ServerResponse,
  pace: Pace,
): Promise<void> {
  outgoing.flushHeaders();
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += PART_BYTES) {
      if (outgoing.destroyed) return;
      outgoing.write(piece.subarray(at, at + PART_BYTES));
      await pace.drained();
    }
  }
  outgoing.end();
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}

function isWhole(body: Body | undefined): body is Uint8Array {
  return body instanceof Uint8Array;
}

/** A way to compress an answer. */
interface Coding {
  readonly name: string;
  readonly whole: (bytes: Uint8Array) => Promise<Uint8Array>;
  readonly stream: () => Transform;
}

/** Chooses a compression that the client accepts, from its `Accept-Encoding`. */
function chooseCoding(accepted: string): Coding | undefined {
  const names = accepted
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .filter((part) => !/;\s*q=0(?:\.0*)?$/.test(part))
    .map((part) => part.split(';')[0]);
  return CODINGS.find(({ name }) => names.includes(name));
}

/** Asks for the next piece when the last one was taken. */
function compressed(
  pieces: AsyncIterable<Uint8Array>,
  { stream }: Coding,
): AsyncIterable<Uint8Array> {
  const compress = stream();
  // The reader gets the error if compression fails.
  pipeline(Readable.from(pieces, { highWaterMark: 1 }), compress, () => undefined);
  return compress as AsyncIterable<Uint8Array>;
}

/** `node:zlib` has zstd from Node 22.15 on; the types of Node 20 do not know it. */
function builtinZstd(from: object): Coding[] {
  if (!('zstdCompress' in from)) return [];
  const { zstdCompress, createZstdCompress } = from as {
    zstdCompress: typeof zlib.gzip;
    createZstdCompress: () => Transform;
  };
  return [
    {
      name: 'zstd',
      whole: promisify<Uint8Array, Buffer>(zstdCompress),
      stream: createZstdCompress,
    },
  ];
}
