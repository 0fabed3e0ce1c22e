import { QuipuError, invalid, isQuipuError } from '../base/errors.ts';
import { decodeUtf8 } from '../base/utf8.ts';

/**
 * Returns the value on a line, or undefined for a blank one. Throws INVALID, with the line's number, for text that is
 * not JSON.
 */
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

/** Runs a check of one line, so that its error can name the line. */
export function namingLine<T>(number: number, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!isQuipuError(error)) throw error;
    const message = `line ${number}: ${error.message}`;
    throw new QuipuError(error.code, message, error.data, { cause: error });
  }
}
