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
