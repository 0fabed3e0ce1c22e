import { isFields } from '../base/fields.ts';

/** The object in a small JSON text. Undefined when the text is not JSON, or not an object. */
export function parseJsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // SyntaxError: the caller treats the text like any other text that is not an object.
    return undefined;
  }
  return isFields(value) ? value : undefined;
}
