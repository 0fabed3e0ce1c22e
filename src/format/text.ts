import { decodeUtf8 } from '../base/utf8.ts';

/** The text in a part of a record. Undefined when it is not UTF-8. */
export function readText(buffer: Buffer, start: number, end: number): string | undefined {
  try {
    return decodeUtf8(buffer.subarray(start, end));
  } catch {
    // INVALID: a damaged record is an answer here, not a failure.
    return undefined;
  }
}
