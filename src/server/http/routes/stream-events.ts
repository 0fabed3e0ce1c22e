import { encodeUtf8 } from '../../../base/text.ts';
import type { LiveStream } from '../../../stream/find-stream.ts';
import { isJsonType, isTextType } from '../../../stream/message.ts';
import { PART_BYTES } from '../exchange/answer-room.ts';
import type { HttpRequest } from '../exchange/route.ts';
import {
  joinMessages,
  readLarge,
  readMessages,
  formatOffset,
  nextCursor,
} from '../../streams/stream-messages.ts';
import type { MessagePage } from '../../streams/stream-messages.ts';

const lenientText = new TextDecoder('utf-8', { ignoreBOM: true });

/** What a reader of a stream asks for. */
export interface StreamRead {
  readonly stream: LiveStream;
  readonly from: number;
  readonly cursor: string | undefined;
}

/** Server-sent events carry text, so bytes go as base64. */
export function isBase64(type: string): boolean {
  return !isTextType(type) && !isJsonType(type);
}

/**
 * The messages of a stream as server-sent events, those there and those to come: each `data` is followed by a
 * `control` with the position after it. Ends with the stream, or when it is closed and the reader has everything.
 */
export async function* streamEvents(
  request: HttpRequest,
  read: StreamRead,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { service, signal } = request;
  const { record, context } = read.stream;
  using listening = service.streamBells.listen(record.name, context.id);
  let from: number | undefined = read.from;
  let saidAtMs = -Infinity;
  while (!signal.aborted) {
    const isLate = performance.now() - saidAtMs >= service.limits.longPollMs;
    const before: number = from;
    from = yield* nextEvents(request, { ...read, from }, isLate);
    if (from === undefined) return;
    if (from > before || isLate) saidAtMs = performance.now();
    // After new messages there may be more of them already.
    if (from > before) continue;
    await listening.bell.wait(service.limits.longPollMs, signal).catch(() => undefined);
  }
}

/**
 * The events of one page, and the position after it. Undefined when the stream is over. A generator of its own, so
 * that a reader that waits holds no page.
 */
async function* nextEvents(
  request: HttpRequest,
  { stream, from, cursor }: StreamRead,
  isLate: boolean,
): AsyncGenerator<Uint8Array, number | undefined, undefined> {
  const { service } = request;
  const found = await service.streams.use(stream.record.name);
  if (found?.is !== 'live' || found.context.id !== stream.context.id) return undefined;
  const asked = { from, maxBytes: PART_BYTES };
  const page = await readMessages(service.served.store.contexts, found, asked);
  if (page === undefined) return undefined;
  const isOver = page.isAtEnd && found.record.closed !== undefined;
  if (page.next > from || isOver || isLate) {
    const control = controlEvent(page, isOver ? undefined : nextCursor(cursor, Date.now()));
    yield* withData(request, page, found.record.type, control);
  }
  return isOver ? undefined : page.next;
}

/** Small messages and the position after them leave together. */
async function* withData(
  { room, service }: HttpRequest,
  { messages, large }: MessagePage,
  type: string,
  control: Uint8Array,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (large !== undefined) {
    // Each line break becomes six bytes.
    const most = isBase64(type) ? Math.ceil(large.size / 3) * 4 : large.size * 6;
    yield* room.parts(most, async () =>
      dataEvent(await readLarge(service.served.store.contexts, large), type),
    );
    yield control;
  } else if (messages.length === 0) yield control;
  else yield Buffer.concat([dataEvent(messages, type), control]);
}

function dataEvent(messages: readonly Uint8Array[], type: string): Uint8Array {
  const bytes = Buffer.from(joinMessages(messages, type));
  const text = isBase64(type) ? bytes.toString('base64') : lenientText.decode(bytes);
  // Any of the three line breaks ends a line of an event: a message cannot forge an event of its own.
  return encodeUtf8(`event: data\ndata:${text.replaceAll(/\r\n|\r|\n/g, '\ndata:')}\n\n`);
}

function controlEvent({ next, isAtEnd }: MessagePage, cursor: string | undefined): Uint8Array {
  const fields = {
    streamNextOffset: formatOffset(next),
    ...(cursor === undefined
      ? { streamClosed: true }
      : { streamCursor: cursor, ...(isAtEnd && { upToDate: true }) }),
  };
  return encodeUtf8(`event: control\ndata:${JSON.stringify(fields)}\n\n`);
}
