import { readUIMessageStream } from 'ai';
import type { UIMessage, UIMessageChunk } from 'ai';
import { VALUE_BOUNDS, findExcess, parseBoundedJson } from '../base/bounded-json.ts';
import { tooLarge } from '../base/errors.ts';
import { LineSplitter } from '../base/json-lines.ts';
import { decodeUtf8 } from '../base/text.ts';

// The chunks of an answer as they are stored: a line of JSON each.

const CHUNK_BYTES_MAX = 67_108_864;
/** A little less than the store takes. The fields beside the parts are small. */
const PARTS_MAX = { bytes: 66_000_000, values: 990_000, depth: 990 };

/** TOO_LARGE for a chunk that could not be read back. */
export function toLine(chunk: UIMessageChunk): string {
  const json = JSON.stringify(chunk);
  const { of, size } = findExcess(json, VALUE_BOUNDS) ?? {};
  if (of === undefined || size === undefined) return `${json}\n`;
  const what = `a chunk of the answer has more than ${VALUE_BOUNDS[of]}`;
  throw tooLarge('chunk', VALUE_BOUNDS[of], size, `${what} ${of === 'depth' ? 'levels' : of}`);
}

/** Gives the chunks of whole lines. The last line may be torn, and is left out then. */
export class ChunkLines {
  readonly #lines = new LineSplitter(0, CHUNK_BYTES_MAX);

  *take(piece: Uint8Array): Generator<UIMessageChunk, void, undefined> {
    for (const { bytes } of this.#lines.take(piece)) {
      const chunk = parse(bytes) as UIMessageChunk | null | undefined;
      if (typeof chunk?.type === 'string') yield chunk;
    }
  }
}

/** Returns undefined for a line that is no chunk, which another program may have written. */
function parse(line: Uint8Array | undefined): unknown {
  try {
    return line && parseBoundedJson(decodeUtf8(line));
  } catch {
    return undefined;
  }
}

/** Returns the message that the chunks make; they may continue the last one. Undefined when they make nothing. */
export async function toAnswer<M extends UIMessage>(
  stored: Uint8Array,
  last: M | undefined,
): Promise<M | undefined> {
  const chunks = [...new ChunkLines().take(stored)];
  const start = chunks.find((chunk) => chunk.type === 'start');
  const isNext = last?.role === 'assistant' && start?.messageId === last.id;
  const stream = ReadableStream.from(chunks) as ReadableStream<UIMessageChunk>;
  let answer: M | undefined;
  const options = { stream, ...(isNext && { message: structuredClone(last) }) };
  for await (const message of readUIMessageStream<M>(options)) answer = message;
  const parts = fitParts(answer?.parts ?? []);
  return answer && parts.length > 0 ? { ...answer, parts } : undefined;
}

/** Leaves out the parts that a turn cannot hold: a chat must go on, whatever a tool has answered. */
export function fitParts<P>(parts: readonly P[]): P[] {
  let { bytes, values } = PARTS_MAX;
  return parts.filter((part) => {
    try {
      const json = JSON.stringify(part);
      if (findExcess(json, { ...PARTS_MAX, values: Infinity }) !== undefined) return false;
      const [size, count] = [
        Buffer.byteLength(json),
        findExcess(json, { ...PARTS_MAX, values: 0 }),
      ];
      if (size > bytes || (count?.size ?? 1) > values) return false;
      bytes -= size;
      values -= count?.size ?? 1;
      return true;
    } catch {
      // The text of a tool call may have more levels than JSON can be written with.
      return false;
    }
  });
}
