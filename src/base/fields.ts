/** The fields of an object of JSON, whatever they are. */
export type Fields = Readonly<Record<string, unknown>>;

/** False for null and for a list, which are objects in JavaScript alone. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object in a small JSON text. Undefined when the text is not JSON, or not an object. */
export function parseJsonObject(text: string): Fields | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // SyntaxError: the caller treats the text like any other text that is not an object.
    return undefined;
  }
  return isFields(value) ? value : undefined;
}
