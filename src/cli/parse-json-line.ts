import { QuipuError, invalid, isQuipuError } from '../base/errors.ts';
import { decodeUtf8 } from '../base/utf8.ts';

/** The value on a line; undefined for a blank one. INVALID, with its number, for what is not JSON. */
export function parseJsonLine(line: Uint8Array, number: number): unknown {
  let text: string;
  try {
    text = decodeUtf8(line);
  } catch {
    throw invalid(`line ${number}`, 'is not valid UTF-8');
  }
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw invalid(`line ${number}`, `is not JSON: ${(error as SyntaxError).message}`);
  }
}

/** A check made line by line, so that its error can say which line it means. */
export function namingLine<T>(number: number, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!isQuipuError(error)) throw error;
    const message = `line ${number}: ${error.message}`;
    throw new QuipuError(error.code, message, error.data, { cause: error });
  }
}
