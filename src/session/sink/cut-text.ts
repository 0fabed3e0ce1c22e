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

const UNITS = ['KB', 'MB', 'GB'] as const;

/** `512B`, `4.0KB`, `5.0MB`, `1.0GB`. */
export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes}B`;
  let amount = bytes / 1024;
  let unit = 0;
  while (amount >= 1024 && unit < UNITS.length - 1) {
    amount /= 1024;
    unit++;
  }
  return `${amount.toFixed(1)}${UNITS[unit] ?? 'GB'}`;
}

/** The marker stands for the text left out between the beginning and the end. */
export function elisionMarker(lines: number, bytes: number): string {
  const size = formatSize(bytes);
  if (lines === 0) return `[… ${size} elided …]`;
  const count = `${lines.toLocaleString('en-US')} ${lines === 1 ? 'line' : 'lines'}`;
  return `[… ${count} elided (${size}) …]`;
}
