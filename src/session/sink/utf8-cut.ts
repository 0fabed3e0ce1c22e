/** The longest beginning of at most `limit` bytes that ends between two characters. */
export function headOf(bytes: Uint8Array, limit: number): Uint8Array {
  if (bytes.length <= limit) return bytes;
  let end = limit;
  while (end > 0 && isContinuation(bytes[end])) end--;
  return bytes.subarray(0, end);
}

/** The longest end of at most `limit` bytes that begins between two characters. */
export function tailOf(bytes: Uint8Array, limit: number): Uint8Array {
  if (bytes.length <= limit) return bytes;
  return wholeFrom(bytes.subarray(bytes.length - limit));
}

/** Returns the bytes without the rest of a character at the beginning. */
export function wholeFrom(bytes: Uint8Array): Uint8Array {
  let start = 0;
  while (start < bytes.length && isContinuation(bytes[start])) start++;
  return bytes.subarray(start);
}

export function countLineBreaks(bytes: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === 0x0a) count++;
  return count;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
