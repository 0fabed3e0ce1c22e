import { setImmediate } from 'node:timers/promises';
import { consumeStream, createUIMessageStream } from 'ai';
import type { UIMessage, UIMessageChunk } from 'ai';
import { jsonBytes } from '../agents/contexts.ts';

/** After so many chunks others have their turn. */
const BREATH = 256;

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
  chunks: UIMessageChunk[],
  last: M | undefined,
): Promise<M | undefined> {
  const start = chunks.find((chunk) => chunk.type === 'start');
  const isNext = last?.role === 'assistant' && start?.messageId === last.id;
  let answer: M | undefined;
  // `readUIMessageStream` copies the message for each chunk: 30 seconds for 8,000 parts.
  const stream = createUIMessageStream<M>({
    originalMessages: isNext ? [last] : [],
    generateId: () => start?.messageId ?? '',
    execute: ({ writer }) => writer.merge(ReadableStream.from(paced(joined(chunks))) as never),
    onFinish: ({ responseMessage }) => void (answer = responseMessage),
  });
  await consumeStream({ stream });
  const parts = answer?.parts.filter((part) => jsonBytes(part) < Infinity) ?? [];
  return answer && parts.length > 0 ? { ...answer, parts } : undefined;
}

/** Joins the pieces of a tool's input: the SDK would parse the whole input again for each piece. */
function joined(chunks: UIMessageChunk[]): UIMessageChunk[] {
  return chunks.filter((chunk, at) => {
    const next = chunks[at + 1];
    const isSame =
      chunk.type === 'tool-input-delta' &&
      next?.type === chunk.type &&
      next.toolCallId === chunk.toolCallId;
    if (isSame) next.inputTextDelta = chunk.inputTextDelta + next.inputTextDelta;
    return !isSame;
  });
}

async function* paced<T>(items: readonly T[]): AsyncGenerator<T, void, undefined> {
  for (let at = 0; at < items.length; at += BREATH) {
    yield* items.slice(at, at + BREATH);
    await setImmediate();
  }
}
