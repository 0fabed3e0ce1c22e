import type { TurnId } from '../../base/brand.ts';
import { parseBoundedJson } from '../../base/bounded-json.ts';
import { invalid } from '../../base/errors.ts';
import { isFields } from '../../base/fields.ts';
import { LineSplitter } from '../../base/json-lines.ts';
import { toStream } from '../../base/to-stream.ts';
import type { Contexts, OpenTurn } from '../../context/contexts.ts';

// An answer while it is written: chunks in an open turn, a line of JSON each.
//
// Invariants
// - A reader gets a chunk when it is durable. All readers, in any process, get the same chunks in the same order.
// - An answer ends once: whole with its source, or cut off with a reason. Any process can cut it off.
// - Readers hold nothing up: a slow one, or one that goes away, changes nothing for the writer.

/** The reason of an answer that somebody stopped. */
export const STOPPED = 'stopped';

export type ChunkSource<C> = ReadableStream<C> | AsyncIterable<C>;

/** Writes chunks until their source or somebody ends the answer. Throws what made it fail; a stop is no failure. */
export async function writeAnswer<C>(
  contexts: Contexts,
  open: OpenTurn,
  produce: (signal: AbortSignal) => ChunkSource<C> | Promise<ChunkSource<C>>,
): Promise<void> {
  const stopped = new AbortController();
  const { signal } = stopped;
  let isWritten = false;
  const watch = async (): Promise<void> => {
    const after = Number.MAX_SAFE_INTEGER;
    for await (const _ of contexts.followOpen(open.id, { after })) continue;
    if (!isWritten) stopped.abort(invalid('answer', 'was ended by somebody else'));
  };
  watch().catch(() => undefined);
  // A model may be silent for long when somebody ends its answer, and may not look at the signal.
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
  const write = async (): Promise<void> => {
    const source = await produce(signal);
    const chunks = source instanceof ReadableStream ? source : ReadableStream.from(source);
    const lines = new WritableStream<C>({
      write: (chunk) => open.write(`${JSON.stringify(chunk)}\n`),
    });
    await chunks.pipeTo(lines, { signal });
    isWritten = true;
  };
  try {
    await Promise.race([write(), ended]);
    await open.seal();
  } catch (error) {
    await open.abort('failed').catch(() => undefined);
    if ((await contexts.turn(open.id))?.reason !== STOPPED) throw error;
  }
}

export interface ChunkShape<C> {
  /** False for a stored value that is no chunk: readers pass it over. */
  readonly isChunk?: (value: object) => boolean;
  /** Makes the chunk that ends an answer that was cut off, for its readers. Nobody stores it. */
  readonly cutOff?: (reason: string) => C;
}

/** Gives the chunks from the first on, as they are asked for. The stream ends when `saved` does, and fails with it. */
export function readAnswer<C>(
  contexts: Contexts,
  turn: TurnId,
  shape: ChunkShape<C>,
  saved?: Promise<void>,
): ReadableStream<C> {
  const gone = new AbortController();
  async function* read(): AsyncGenerator<C, void, undefined> {
    yield* readChunks(contexts.followOpen(turn, { signal: gone.signal }), shape);
    if (gone.signal.aborted) return;
    await saved;
    const { outcome, reason = outcome } = (await contexts.turn(turn)) ?? {};
    const last = reason === undefined ? undefined : shape.cutOff?.(reason);
    if (last !== undefined) yield last;
  }
  return toStream(read(), () => gone.abort());
}

/** Gives the chunks of whole lines. A line that is torn, no JSON or over the bounds of a value is passed over. */
export async function* readChunks<C>(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { isChunk = () => true }: ChunkShape<C>,
): AsyncGenerator<C, void, undefined> {
  const lines = new LineSplitter(0, Infinity);
  for await (const piece of pieces) {
    for (const { bytes = new Uint8Array() } of lines.take(piece)) {
      let value: unknown;
      try {
        value = parseBoundedJson(Buffer.from(bytes).toString());
      } catch {
        continue;
      }
      if (isFields(value) && isChunk(value)) yield value as C;
    }
  }
}
