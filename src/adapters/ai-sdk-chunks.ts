import { readUIMessageStream } from 'ai';
import type { UIMessage, UIMessageChunk } from 'ai';
import { parseBoundedJson } from '../base/bounded-json.ts';
import { LineSplitter } from '../base/json-lines.ts';
import { decodeUtf8 } from '../base/text.ts';

// The chunks of an answer as they are stored: a line of JSON each.

const CHUNK_BYTES_MAX = 67_108_864;

export function toLine(chunk: UIMessageChunk): string {
  return `${JSON.stringify(chunk)}\n`;
}

/** Gives the chunks of whole lines. The last line may be torn, and is left out then. */
export class ChunkLines {
  readonly #lines = new LineSplitter(0, CHUNK_BYTES_MAX);

  *take(piece: Uint8Array): Generator<UIMessageChunk, void, undefined> {
    for (const { bytes } of this.#lines.take(piece)) {
      if (bytes !== undefined) yield parseBoundedJson(decodeUtf8(bytes)) as UIMessageChunk;
    }
  }
}

/** Returns the message that the chunks make; they may continue the last one. Undefined when they make nothing. */
export async function toAnswer<M extends UIMessage>(
  chunks: readonly UIMessageChunk[],
  last: M | undefined,
): Promise<M | undefined> {
  const start = chunks.find((chunk) => chunk.type === 'start');
  const isNext = last !== undefined && start?.messageId === last.id;
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  let answer: M | undefined;
  const options = { stream, ...(isNext && { message: structuredClone(last) }) };
  for await (const message of readUIMessageStream<M>(options)) answer = message;
  return answer?.parts.length === 0 ? undefined : answer;
}
