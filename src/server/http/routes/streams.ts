import { z } from 'zod';
import { exists, invalid, notFound } from '../../../base/errors.ts';
import { decodeUtf8 } from '../../../base/text.ts';
import { PAYLOAD_BYTES_MAX } from '../../../context/limits.ts';
import type { AppendAnswer, ProducerMark } from '../../../stream/append-group.ts';
import { tailOf, type LiveStream } from '../../../stream/find-stream.ts';
import { isJsonType, toMessage } from '../../../stream/message.ts';
import { checkStreamName } from '../../../stream/stream-record.ts';
import {
  joinMessages,
  readLarge,
  readMessages,
  STREAMS_PATH,
  checkType,
  formatOffset,
  newStreamOf,
  nextCursor,
  parsePosition,
  producerOf,
  saysClosed,
  seqOf,
} from '../../streams/stream-messages.ts';
import type { MessagePage } from '../../streams/stream-messages.ts';
import { isBase64, streamEvents } from './stream-events.ts';
import type { StreamRead } from './stream-events.ts';
import { LARGE_BYTES } from '../exchange/answer-room.ts';
import { isKnown } from '../exchange/schemas.ts';
import { errorReply, routesAt } from '../exchange/route.ts';
import { readBody } from '../exchange/read-body.ts';
import type { HttpRequest, Reply, Route } from '../exchange/route.ts';

// The Durable Streams protocol. Its statuses and headers are its own: invalid input is 400 here, as it says.

/** A message of a JSON stream gets brackets around it. */
const BODY_BYTES_MAX = PAYLOAD_BYTES_MAX - 2;

const ofStream = routesAt(`${STREAMS_PATH}:name{.+}`, {
  name: z.string().transform(checkStreamName),
});
const invalidStatus = 400;
/** Streams can hold pages of any kind, which must not act as pages of this server. */
const SAFE = {
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Content-Security-Policy': "sandbox; default-src 'none'",
};
const DURABLE = 'Stream-Next-Offset names the end of the stream';

/** Parameters that the protocol does not know are passed over. */
const readQuery = z.object({
  offset: z.string().optional().describe('Begin here: -1 at the beginning, now at the end'),
  live: z.enum(['long-poll', 'sse']).optional().describe('Wait for messages, or get events'),
  cursor: z.string().optional().describe('The Stream-Cursor of the answer before'),
});

export const streamRoutes: readonly Route[] = [
  ofStream.put('', {
    invalidStatus,
    name: 'createStream',
    summary: 'Create a durable stream, or fork one; with the same settings it is there already',
    headers: {
      'Content-Type': 'Of all messages; application/json for JSON values',
      'Stream-TTL': 'Seconds that the stream lives after its last read or write',
      'Stream-Expires-At': 'The time at which the stream ends',
      'Stream-Closed': 'true: closed from the beginning',
      'Stream-Forked-From': 'The path of the stream to fork',
      'Stream-Fork-Offset': 'Fork here; default the end',
      'Stream-Fork-Sub-Offset': 'And so many bytes, or JSON values, of the next message',
    },
    body: { bytes: 'The first message', optional: true },
    answer: { status: 201, what: `${DURABLE}; 200 if it was there`, type: 'text/plain' },
    async run({ params: { name }, request }) {
      const given = newStreamOf(request, await readMessage(request));
      const { created, type, tail, closed } = await request.service.streams.create(name, given);
      const headers = { ...SAFE, ...position(tail, closed), 'Content-Type': type };
      if (!created) return { status: 200, headers };
      return { status: 201, headers: { ...headers, Location: addressOf(request) } };
    },
  }),

  ofStream.post('', {
    invalidStatus,
    name: 'appendToStream',
    summary: 'Append a message to a stream, close it, or both; durable when the answer comes',
    headers: {
      'Content-Type': 'That of the stream',
      'Stream-Closed': 'true: close the stream, after this message if there is one',
      'Stream-Seq': 'Refused unless it is greater than the last one',
      'Producer-Id': 'Makes sure, with the next two, that a message is stored once',
      'Producer-Epoch': 'Rises when the producer starts anew',
      'Producer-Seq': 'Counts the messages of an epoch from 0',
    },
    body: { bytes: 'The message', optional: true },
    answer: { status: 204, what: `${DURABLE}; 200 for a message of a producer` },
    async run({ params: { name }, request }) {
      const producer = producerOf(request);
      const seq = seqOf(request);
      const close = saysClosed(request);
      const body = await readMessage(request);
      const type = request.header('content-type');
      const isEmpty = body.length === 0;
      if (isEmpty && !close) throw invalid('body', 'is empty, and the stream is not to be closed');
      if (!isEmpty && type === undefined) throw invalid('Content-Type', 'is missing');
      const message = isEmpty ? undefined : toMessage(body, checkType(type ?? ''));
      if (!isEmpty && message === undefined) throw invalid('body', 'is a list without values');
      const answer = await request.service.streams.append(name, {
        ...(message !== undefined && { message, type: type ?? '' }),
        ...(seq !== undefined && { seq }),
        ...(producer !== undefined && { producer }),
        close,
      });
      const reply = appendReply(name, answer, producer);
      const isProduced = answer.is === 'done' && producer !== undefined && !isEmpty;
      return isProduced ? { ...reply, status: 200 } : reply;
    },
  }),

  ofStream.get('', {
    invalidStatus,
    name: 'readStream',
    summary: 'The messages of a stream from a position on; HEAD gives its settings and its end',
    headers: { 'If-None-Match': 'The ETag of what the client has: 304' },
    query: readQuery,
    answer: {
      what: 'Messages, one after the other or as a JSON array; Stream-Next-Offset is where to go on',
      type: 'application/octet-stream',
    },
    async run({ params: { name }, query, request }) {
      const { service } = request;
      const isHead = request.incoming.method === 'HEAD';
      const { offset, live } = query;
      const given = parsePosition(offset);
      if (live !== undefined && offset === undefined) {
        throw invalid('offset', `is missing, and ${live} needs one`);
      }
      const stream = await (isHead ? service.streams.find(name) : service.streams.use(name));
      if (stream === undefined) throw noStream(name);
      if (stream.is === 'gone') return goneReply(name);
      if (isHead) return headReply(stream);
      const from = given === 'now' ? tailOf(stream) : given;
      const read = { stream, from, cursor: query.cursor };
      if (live === 'sse') return eventsReply(request, read);
      if (live === 'long-poll') return pollReply(request, read);
      return pageReply(request, read, given === 'now');
    },
  }),

  ofStream.delete('', {
    invalidStatus,
    name: 'removeStream',
    summary: 'Remove a stream; its bytes go with the next collection, if no fork has them',
    answer: { status: 204, what: 'It is gone' },
    async run({ params: { name }, request }) {
      const outcome = await request.service.streams.remove(name);
      if (outcome === 'missing') throw noStream(name);
      return outcome === 'gone' ? goneReply(name) : { headers: SAFE };
    },
  }),
];

function readMessage(request: HttpRequest): Promise<Uint8Array> {
  return readBody(request, Math.min(request.service.limits.bodyBytes, BODY_BYTES_MAX));
}

/** The protocol wants an absolute address. */
function addressOf({ incoming }: HttpRequest): string {
  const scheme = 'encrypted' in incoming.socket ? 'https' : 'http';
  const [path = ''] = (incoming.url ?? '').split('?');
  return `${scheme}://${incoming.headers.host ?? 'localhost'}${path}`;
}

function position(messages: number, closed: boolean): Record<string, string> {
  return {
    'Stream-Next-Offset': formatOffset(messages),
    ...(closed && { 'Stream-Closed': 'true' }),
  };
}

function noStream(name: string): Error {
  return notFound('stream', name, `there is no stream ${name}; create it with PUT`);
}

function goneReply(name: string): Reply {
  const error = notFound('stream', name, `the stream ${name} was deleted`);
  return { ...errorReply(error), status: 410 };
}

function refused(message: string, name: string, headers: Record<string, string> = {}): Reply {
  const reply = errorReply(exists('stream', name, message));
  return { ...reply, headers: { ...SAFE, ...headers } };
}

function appendReply(name: string, answer: AppendAnswer, producer?: ProducerMark): Reply {
  const marks = (seq: number): Record<string, string> =>
    producer === undefined
      ? {}
      : { 'Producer-Epoch': String(producer.epoch), 'Producer-Seq': String(seq) };
  switch (answer.is) {
    case 'done':
    case 'duplicate': {
      const seq = answer.is === 'done' ? (producer?.seq ?? 0) : answer.seq;
      return { headers: { ...SAFE, ...position(answer.next, answer.closed), ...marks(seq) } };
    }
    case 'closed':
      return refused(`${name} is closed`, name, position(answer.next, true));
    case 'stale': {
      const message = `a later run of this producer has epoch ${answer.epoch}`;
      const headers = { 'Producer-Epoch': String(answer.epoch) };
      return { ...refused(message, name, headers), status: 403 };
    }
    case 'gap': {
      const message = `Producer-Seq ${answer.expected} comes next, not ${answer.received}`;
      return refused(message, name, {
        'Producer-Expected-Seq': String(answer.expected),
        'Producer-Received-Seq': String(answer.received),
      });
    }
    case 'new epoch':
      throw invalid('Producer-Seq', 'must be 0 in the first message of an epoch');
    case 'other type':
      return refused(`${name} has messages of the type ${answer.type}`, name);
    case 'old seq':
      return refused(`Stream-Seq is greater than ${answer.seq} in the next message`, name);
    case 'missing':
      throw noStream(name);
    case 'gone':
      return goneReply(name);
  }
}

function headReply(stream: LiveStream): Reply {
  const { type, ttl, expiresAt, closed } = stream.record;
  return {
    headers: {
      ...SAFE,
      ...position(tailOf(stream), closed !== undefined),
      'Content-Type': type,
      'Cache-Control': 'no-store',
      ...(ttl !== undefined && { 'Stream-TTL': String(ttl) }),
      ...(expiresAt !== undefined && { 'Stream-Expires-At': expiresAt }),
    },
  };
}

async function pageReply(
  request: HttpRequest,
  { stream, from }: StreamRead,
  isNow: boolean,
): Promise<Reply> {
  const page = await mustRead(request, stream, from);
  // The end moves with every append, so nobody may keep an answer about it.
  if (isNow) return messagesReply(request, stream, page, { 'Cache-Control': 'no-store' });
  const headers = { ETag: page.tag, 'Cache-Control': 'private, no-cache' };
  if (isKnown(request.header('if-none-match'), page.tag)) {
    return { status: 304, headers: { ...SAFE, ...headers } };
  }
  return messagesReply(request, stream, page, headers);
}

async function mustRead(
  { service }: HttpRequest,
  stream: LiveStream,
  from: number,
): Promise<MessagePage> {
  const asked = { from, maxBytes: LARGE_BYTES };
  const page = await readMessages(service.served.store.contexts, stream, asked);
  if (page === undefined) throw noStream(stream.record.name);
  return page;
}

function messagesReply(
  { room, service }: HttpRequest,
  { record }: LiveStream,
  { messages, large, next, isAtEnd }: MessagePage,
  more: Record<string, string>,
): Reply {
  const { type } = record;
  const headers = {
    ...SAFE,
    ...position(next, isAtEnd && record.closed !== undefined),
    ...(isAtEnd && { 'Stream-Up-To-Date': 'true' }),
    ...more,
  };
  if (large !== undefined) {
    const body = room.parts(large.size, async () =>
      joinMessages(await readLarge(service.served.store.contexts, large), type),
    );
    return { type, headers, body };
  }
  const bytes = joinMessages(messages, type);
  return { type, headers, body: isJsonType(type) ? decodeUtf8(bytes) : bytes };
}

/** Waits for messages, if there are none yet. */
async function pollReply(request: HttpRequest, read: StreamRead): Promise<Reply> {
  const { service, signal } = request;
  const { name } = read.stream.record;
  const { id } = read.stream.context;
  const untilMs = performance.now() + service.limits.longPollMs;
  using listening = service.streamBells.listen(name, id);
  for (;;) {
    const stream = await service.streams.use(name);
    if (stream?.is !== 'live' || stream.context.id !== id) throw noStream(name);
    const page = await mustRead(request, stream, read.from);
    const cursor = {
      'Stream-Cursor': nextCursor(read.cursor, Date.now()),
      'Cache-Control': 'no-store',
    };
    if (page.next > read.from) return messagesReply(request, stream, page, cursor);
    const leftMs = untilMs - performance.now();
    const closed = stream.record.closed !== undefined;
    if (closed || leftMs <= 0 || signal.aborted) {
      const headers = { ...SAFE, ...position(page.next, closed), 'Stream-Up-To-Date': 'true' };
      return { status: 204, headers: { ...headers, ...cursor } };
    }
    await listening.bell.wait(leftMs, signal).catch(() => undefined);
  }
}

function eventsReply(request: HttpRequest, read: StreamRead): Reply {
  return {
    type: 'text/event-stream',
    headers: {
      ...SAFE,
      'Cache-Control': 'no-cache',
      'X-Accel-Buffering': 'no',
      ...(isBase64(read.stream.record.type) && { 'Stream-SSE-Data-Encoding': 'base64' }),
    },
    body: streamEvents(request, read),
  };
}
