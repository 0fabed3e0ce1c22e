import { QuipuError } from '../base/errors.ts';

const LINE_FEED = 0x0a;

/** The lines of a stream of bytes, without their line feeds; a last one without is a line as well. */
export async function* readLines(
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncIterable<Uint8Array> {
  let parts: Uint8Array[] = [];
  let size = 0;
  const add = (part: Uint8Array): void => {
    size += part.length;
    if (size > maxBytes) {
      throw new QuipuError('TOO_LARGE', `a line has more than ${maxBytes} bytes`, {
        what: 'line',
        limit: maxBytes,
        size,
      });
    }
    parts.push(part);
  };
  for await (const piece of source) {
    let start = 0;
    for (let end = piece.indexOf(LINE_FEED); end !== -1; end = piece.indexOf(LINE_FEED, start)) {
      add(piece.subarray(start, end));
      yield Buffer.concat(parts);
      parts = [];
      size = 0;
      start = end + 1;
    }
    if (start < piece.length) add(piece.subarray(start));
  }
  if (size > 0) yield Buffer.concat(parts);
}
