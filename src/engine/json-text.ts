import { findExcess, VALUE_BOUNDS } from '../base/bounded-json.ts';
import { corrupt, invalid, messageOf, notFound } from '../base/errors.ts';
import { isFields } from '../base/fields.ts';
import { assertWellFormed } from '../base/text.ts';

/** An index of nearly a million workflow threads fits. An untrusted text costs a quarter of a gigabyte at most. */
const BOUNDS = { ...VALUE_BOUNDS, values: 4_000_000 };
const UNITS = { depth: 'levels', values: 'values' };

/**
 * Refuses a text that is not JSON or would take far more memory parsed than written. Also refuses a lone surrogate:
 * it has no UTF-8 form, so it would be stored as another character.
 */
export function assertJsonText(text: string, what: string): void {
  assertWellFormed(text, what);
  const excess = findExcess(text, BOUNDS);
  if (excess !== undefined)
    throw invalid(what, `has more than ${BOUNDS[excess.of]} ${UNITS[excess.of]}`);
  try {
    JSON.parse(text);
  } catch (error) {
    throw invalid(what, `is not JSON: ${messageOf(error)}`);
  }
}

/**
 * The object in a document or a line of a log, as a store has it. Throws CORRUPT for anything else: what is stored may
 * have been written by somebody else. `name` is that of the document or log.
 */
export function parseStored(name: string, text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  if (findExcess(text, BOUNDS) === undefined) {
    try {
      value = JSON.parse(text);
    } catch {
      // SyntaxError: the error below covers it.
    }
  }
  if (isFields(value)) return value;
  throw corrupt(
    name,
    `${name} holds something else than it should. Nothing was changed; restore it from a backup`,
  );
}

/** One line of a log: JSON without the characters that end a line. */
export function assertJsonLine(line: string, what: string): void {
  if (/[\n\r]/.test(line)) throw invalid(what, 'has a line break inside');
  assertJsonText(line, what);
}

/** The replacement of line `at` of a log: `text` padded with spaces to the length of `old` in UTF-8. */
export function padLine(log: string, at: number, old: string | undefined, text: string): string {
  if (old === undefined) {
    const id = `${log}:${at}`;
    throw notFound('line', id, `log ${log} has no line ${at}`);
  }
  assertJsonLine(text, 'text');
  const missing = Buffer.byteLength(old) - Buffer.byteLength(text);
  if (missing < 0)
    throw invalid('text', `is longer than line ${at} of ${log} by ${-missing} bytes`);
  return text + ' '.repeat(missing);
}
