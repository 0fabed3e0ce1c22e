/** The fields of an object of JSON, whatever they are. */
export type Fields = Readonly<Record<string, unknown>>;

/** False for null and for a list, which are objects in JavaScript alone. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
