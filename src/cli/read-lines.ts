import { QuipuError } from '../base/errors.ts';

const LINE_FEED = 0x0a;

/** Yields the lines of a stream of bytes, without their line feeds. A last line without a line feed counts as well. */
export async function* readLines(
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncIterable<Uint8Array> {
  for await (const lines of readLineGroups(source, maxBytes)) yield* lines;
}

/** Yields at a time all lines that end within one piece of the stream: for many lines, waiting for each takes long. */
export async function* readLineGroups(
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncIterable<readonly Uint8Array[]> {
  /** The parts of a line whose end has not come yet. */
  let parts: Uint8Array[] = [];
  let size = 0;
  for await (const piece of source) {
    const lines: Uint8Array[] = [];
    let start = 0;
    while (start < piece.length) {
      const found = piece.indexOf(LINE_FEED, start);
      const end = found === -1 ? piece.length : found;
      size += end - start;
      if (size > maxBytes) {
        yield lines;
        throw tooLong(maxBytes, size);
      }
      parts.push(piece.subarray(start, end));
      start = end + 1;
      if (found === -1) break;
      lines.push(join(parts));
      parts = [];
      size = 0;
    }
    yield lines;
  }
  if (size > 0) yield [join(parts)];
}

/** Most lines lie within one piece, and need no copy. */
function join(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  return first !== undefined && parts.length === 1 ? first : Buffer.concat(parts);
}

function tooLong(limit: number, size: number): QuipuError<'TOO_LARGE'> {
  const message = `a line has more than ${limit} bytes`;
  return new QuipuError('TOO_LARGE', message, { what: 'line', limit, size });
}
