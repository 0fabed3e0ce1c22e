import { setImmediate } from 'node:timers/promises';
import { consumeStream, createUIMessageStream } from 'ai';
import type { UIMessage, UIMessageChunk } from 'ai';
import { VALUE_BOUNDS, findExcess, parseBoundedJson } from '../base/bounded-json.ts';
import { LineSplitter } from '../base/json-lines.ts';

// The chunks of an answer as they are stored: a line of JSON each.

/** After so many chunks others have their turn. */
const BREATH = 256;

/** Gives the chunks of whole lines. The last line may be torn, and is left out then. */
export async function* readChunks(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<UIMessageChunk, void, undefined> {
  const lines = new LineSplitter(0, Infinity);
  for await (const piece of pieces) {
    for (const { bytes } of lines.take(piece)) {
      const chunk = parse(bytes) as UIMessageChunk | null | undefined;
      if (typeof chunk?.type === 'string') yield chunk;
    }
  }
}

/** Returns undefined for a line that is no JSON, or over the bounds of a value. */
function parse(line: Uint8Array = new Uint8Array()): unknown {
  try {
    return parseBoundedJson(Buffer.from(line).toString());
  } catch {
    return undefined;
  }
}

/** Gives an answer an id, also when its chunks do not begin with one. */
export function named(messageId: string): TransformStream<UIMessageChunk, UIMessageChunk> {
  let isNamed = false;
  return new TransformStream({
    transform(chunk, controller) {
      const start = chunk.type === 'start' ? chunk : undefined;
      if (!isNamed)
        controller.enqueue({ ...start, type: 'start', messageId: start?.messageId ?? messageId });
      if (isNamed || start === undefined) controller.enqueue(chunk);
      isNamed = true;
    },
  });
}

/** Returns the message that the chunks make; they may continue the last one. Undefined when they make nothing. */
export async function toAnswer<M extends UIMessage>(
  stored: Uint8Array,
  last: M | undefined,
): Promise<M | undefined> {
  const chunks: UIMessageChunk[] = [];
  for await (const chunk of readChunks([stored])) {
    const before = chunks.at(-1);
    const isMore = chunk.type === 'tool-input-delta' && before?.type === chunk.type;
    // The SDK would parse the whole input of a tool again for each piece of it.
    if (isMore && before.toolCallId === chunk.toolCallId)
      before.inputTextDelta += chunk.inputTextDelta;
    else chunks.push(chunk);
  }
  const start = chunks.find((chunk) => chunk.type === 'start');
  const isNext = last?.role === 'assistant' && start?.messageId === last.id;
  let answer: M | undefined;
  // `readUIMessageStream` copies the message for each chunk: 30 seconds for 8,000 parts.
  const stream = createUIMessageStream<M>({
    originalMessages: isNext ? [last] : [],
    generateId: () => start?.messageId ?? '',
    execute: ({ writer }) => writer.merge(ReadableStream.from(paced(chunks)) as never),
    onFinish: ({ responseMessage }) => void (answer = responseMessage),
  });
  await consumeStream({ stream });
  const parts = answer?.parts.filter((part) => jsonBytes(part) < Infinity) ?? [];
  return answer && parts.length > 0 ? { ...answer, parts } : undefined;
}

async function* paced<T>(items: readonly T[]): AsyncGenerator<T, void, undefined> {
  for (let at = 0; at < items.length; at += BREATH) {
    yield* items.slice(at, at + BREATH);
    await setImmediate();
  }
}

/** Returns the bytes of a value as JSON; Infinity for one over the bounds, also if JSON cannot be written so deep. */
export function jsonBytes(value: unknown): number {
  try {
    const json = JSON.stringify(value);
    return findExcess(json, VALUE_BOUNDS) === undefined ? Buffer.byteLength(json) : Infinity;
  } catch {
    return Infinity;
  }
}
