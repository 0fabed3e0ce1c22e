import { invalid, notFound } from '../base/errors.ts';
import { assertJsonLine } from './json-text.ts';

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
