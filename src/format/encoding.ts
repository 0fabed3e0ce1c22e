/** Says how to read the payload of a turn. The numbers are stored. Unknown numbers are kept as given. */
export const Encoding = {
  bytes: 0,
  msgpack: 1,
  json: 2,
  /** UTF-8. */
  text: 3,
} as const;

export type EncodingName = keyof typeof Encoding;

const NAMES: readonly EncodingName[] = ['bytes', 'msgpack', 'json', 'text'];

/** Undefined for a number that has no name here. */
export function encodingName(encoding: number): EncodingName | undefined {
  return NAMES[encoding];
}
